"""What kinds of operation there are, and how one ended: values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from anabranch.errors import Reason

Kind = Literal["rewind", "undo", "reprocess", "repair"]
Outcome = Literal["done", "refused", "undone", "rolled back"]


@dataclass(frozen=True)
class Check:
    """What must hold after an operation, and whether it does."""

    what: Reason
    holds: bool


@dataclass(frozen=True)
class Receipt:
    at: str
    outcome: Outcome
    # Of a rewind or undo: how many files were moved, and what was verified afterwards.
    files: int | None = None
    verified: tuple[Check, ...] = ()
    # Of a reprocess: results acknowledged, of how many planned.
    acknowledged: int | None = None
    planned: int | None = None
    # The operation that undid it.
    by: str | None = None
