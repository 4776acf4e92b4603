"""The baseline beside a checkpoint: reads and writes it, and knows which code runs now."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import anabranch
from anabranch.checkpoint.baseline import Baseline, from_format_1, from_format_2
from anabranch.storage.files import CheckpointLocation, Format

# The code on every record's way to a result, beside the transformation itself.
_SHARED_CODE = (
    *("streaming/decoder/*.py", "streaming/decoder/*.scala", "streaming/transforms.py", "streaming/results.py"),
    *("pipeline/lake.py", "pipeline/builtin/visits.py", "pipeline/builtin/session_*.py"),
)

BASELINE = Format("baseline", 3, Baseline, {1: from_format_1, 2: from_format_2})


def read_baseline(location: CheckpointLocation) -> Baseline | None:
    """None: the checkpoint is not of one of our pipelines. A file that cannot be understood is refused."""
    return BASELINE.read(location.baseline)


def write_baseline(location: CheckpointLocation, baseline: Baseline) -> None:
    BASELINE.write(location.baseline, baseline)


def code_fingerprint(own: bytes) -> str:
    """Which code computes a pipeline's results: a short hash of its own and of ours, to be compared over upgrades."""
    digest = hashlib.sha256(own)
    for file in shared_code():
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def shared_code() -> Iterator[Path]:
    root = Path(anabranch.__file__).parent
    return (file for pattern in _SHARED_CODE for file in sorted(root.glob(pattern)))
