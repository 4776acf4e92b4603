"""visits-sessions as ever more visits stay open, up to a million. Ours alone: the plain way would take half an hour."""

from __future__ import annotations

from anabranch.pipeline.builtin.visits_sessions import VISITS_SESSIONS
from benchmarks.case import Case, Figures, Place
from benchmarks.streams import full_batches, rows_per_s, start_ours

_ROWS = 50_000
# Every record opens a visit: after so many batches a million are open.
_SHOWN = (2, 4, 8, 12, 16, 20)


def _ours(place: Place) -> Figures:
    pipeline = VISITS_SESSIONS.changed(max_offsets=_ROWS, source_topic="visits_open_in")
    batches = full_batches(place, start_ours(place, pipeline), _ROWS)
    return {f"{number * _ROWS:,} open": rows_per_s([batches[number - 1]]) for number in _SHOWN if number <= len(batches)}


CASE = Case(
    name="open_visits",
    summary="visits-sessions, 50,000 new visits a batch, none of them over",
    unit="rows/s",
    ours=_ours,
    rounds=1,
)
