"""Rows a second of visits-sessions, in large and in small batches: one key for each visit, or buckets of visits."""

from __future__ import annotations

from pyspark.sql.streaming.query import StreamingQuery

from anabranch.core.pipeline import VISITS_SESSIONS
from benchmarks.case import Case, Figures, Goal, Place
from benchmarks.plain_sessions import sessions
from benchmarks.streams import StartPlain, full_batches, rows_per_s, start_ours

# Rows a batch, and how many batches are run: all that there are.
_BATCHES = {50_000: 2, 5_000: 20}
_COLD_BATCHES = {50_000: 1, 5_000: 10}


def _figures(place: Place, start: StartPlain) -> Figures:
    figures = {}
    # The small ones first, so that Java is warm and Python's workers are up before one large batch is measured.
    for rows in sorted(_BATCHES):
        place.say(f"{rows:,} rows a batch")
        batches = full_batches(place, start(place, rows), rows, at_most=_BATCHES[rows])
        figures[f"{rows:,} rows a batch"] = rows_per_s(batches[_COLD_BATCHES[rows] :])
    return figures


def _start_ours(place: Place, rows: int) -> StreamingQuery:
    return start_ours(place, VISITS_SESSIONS.changed(max_offsets=rows, source_topic="visits_sessions_in"), f"sessions-{rows}")


def _ours(place: Place) -> Figures:
    return _figures(place, _start_ours)


def _plain(place: Place) -> Figures:
    return _figures(place, sessions)


CASE = Case(
    name="sessions",
    summary="visits-sessions: pages so far for each visit",
    unit="rows/s",
    ours=_ours,
    plain=_plain,
    goals={"50,000 rows a batch": Goal(at_least=10), "5,000 rows a batch": Goal(at_least=6)},
)
