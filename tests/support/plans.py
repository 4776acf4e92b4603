"""Plans of a reprocess, made of drawn results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anabranch.reprocess.plan import Compared, Range, ReprocessPlan
from anabranch.reprocess.staleness import InputSnapshot
from anabranch.reprocess.tally import Tally

INPUTS = InputSnapshot("source", "results", {}, "stream", "lake", {})
WINDOW = Range(1756969200000, 1756969800000)  # 2025-09-04T07:00Z to 07:10Z


def reprocess_plan(results: Sequence[tuple[str, str | None, str | None]] = (), **about: Any) -> ReprocessPlan:
    """`results`: the key, what the topic holds for it, and what it should hold."""
    tally = Tally()
    for key, emitted, should_be in results:
        tally.take(Compared(key, 0, emitted, should_be))
    asked = about.pop("range", WINDOW)
    plan = {
        "operation": "id",
        "pipeline": "visits-counter",
        "topic": "visits_counter",
        "asked": asked,
        "range": asked,
        "ranges": (asked,),
        "windows": 1,
        "lake": "lake",
        "lake_version": 4,
        "files": 2,
        "rows": 11,
        "results": tally.results,
        "changed": tally.changed,
        "changes": tally.changes,
        "unexpected_results": tally.unexpected_results,
        "unexpected": tally.unexpected,
        "inputs": INPUTS,
        "audit": None,
    }
    return ReprocessPlan(**{**plan, **about})
