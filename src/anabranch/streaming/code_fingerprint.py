"""Which code computes a pipeline's results: a short hash of its sources, to be compared over upgrades."""

from __future__ import annotations

import hashlib
from pathlib import Path

import anabranch
from anabranch.pipeline.definition import Pipeline

# What is on every record's way to a result.
_SHARED = ("streaming/decoder/*.py", "streaming/transforms.py", "streaming/results.py", "pipeline/builtin/session_*.py")


def code_fingerprint(pipeline: Pipeline) -> str:
    root = Path(anabranch.__file__).parent
    shared = (file for pattern in _SHARED for file in sorted(root.glob(pattern)))
    digest = hashlib.sha256()
    for file in (Path(pipeline.transform.__code__.co_filename), *shared):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
