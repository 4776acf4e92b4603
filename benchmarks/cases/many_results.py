"""The memory of a plan of a reprocess and of an audit of 5,000,000 results, beside that of 5,000 from as many records.

The real commands, each in processes of its own. On one machine Spark's executor is in the driver's JVM, whose heap is limited.
"""

from __future__ import annotations

from anabranch.text.format import iso_utc
from benchmarks.case import Case, Figures, Goal, Place
from benchmarks.commands import cost_of
from benchmarks.stored import DAY, StoredDay

RECORDS = 5_000_000
# A window has 5 minutes, so 17 browsers have 4,896 results a day.
_FEW = StoredDay("few-results", "browsers-stateful", RECORDS, browsers=17)
_MANY = StoredDay("many-results", "browsers-stateful", RECORDS, browsers=RECORDS)
_WHAT = ("plan of a reprocess", "audit")
_WHOLE_DAY = ("--from", iso_utc(DAY.start_ms), "--to", iso_utc(DAY.end_ms))


def _figures(place: Place, stored: StoredDay) -> Figures:
    directory = stored.project(place).directory
    # The lake is proven complete once: what that takes is no matter of results.
    cost_of(directory, "reprocess", stored.pipeline, "--from", _WHOLE_DAY[1], "--to", iso_utc(DAY.start_ms + 1), "--dry-run")
    plan = cost_of(directory, "reprocess", stored.pipeline, *_WHOLE_DAY, "--dry-run")
    audit = cost_of(directory, "audit", stored.pipeline)
    figures: Figures = {}
    for name, cost in zip(_WHAT, (plan, audit), strict=True):
        place.say(f"{name}: {cost.duration_ms / 1000:.0f} s")
        figures |= {f"{name}, Python": cost.python_mb, f"{name}, JVM": cost.jvm_mb}
    return figures


def _ours(place: Place) -> Figures:
    return _figures(place, _MANY)


def _plain(place: Place) -> Figures:
    return _figures(place, _FEW)


CASE = Case(
    name="many_results",
    summary="5,000,000 results of browsers-stateful: peak memory; plain: 5,000 results of as many records",
    unit="MB",
    ours=_ours,
    plain=_plain,
    goals={f"{what}, {process}": Goal(at_most=1.2) for what in _WHAT for process in ("Python", "JVM")},
    rounds=1,
)
