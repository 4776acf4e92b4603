"""A finding: something about a checkpoint that a person should know before trusting it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    code: str
    # Relative to the checkpoint.
    file: str
    # With what Spark would do.
    what: str
    remedy: str
