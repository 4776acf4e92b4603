"""Which code computes a pipeline's results: a short hash of the sources that do, to be compared over upgrades."""

from __future__ import annotations

import hashlib
from pathlib import Path

import anabranch
from anabranch.pipeline.definition import Pipeline


def code_fingerprint(pipeline: Pipeline) -> str:
    root = Path(anabranch.__file__).parent
    own = root / "pipeline" / "builtin" / f"{pipeline.module.rpartition('.')[2]}.py"
    digest = hashlib.sha256()
    for file in (
        own,
        *sorted((root / "pipeline" / "builtin").glob("session_*.py")),
        *sorted((root / "streaming").rglob("*.py")),
    ):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
