"""Which code computes a pipeline's results: a short hash of the sources that do, to be compared over upgrades."""

from __future__ import annotations

import hashlib
from pathlib import Path

import anabranch
from anabranch.core.pipeline import Pipeline


def code_of(pipeline: Pipeline) -> str:
    root = Path(anabranch.__file__).parent
    own = root / "pipelines" / f"{pipeline.module.rpartition('.')[2]}.py"
    digest = hashlib.sha256()
    for file in (own, root / "core" / "sessions.py", *sorted((root / "flow").glob("*.py"))):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
