"""Rows a second of visits-sessions, in large and in small batches: one key for each visit, or buckets of visits.

Warm: the topic is read in small batches first, which are not counted.
"""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql.streaming.query import StreamingQuery

from anabranch.pipeline.builtin.visits_sessions import VISITS_SESSIONS
from benchmarks.case import Case, Figures, Goal, Place
from benchmarks.plain_sessions import sessions
from benchmarks.streams import Batch, StartPlain, full_batches, rows_per_s, start_ours

# Rows a batch, and how many such batches the topic makes.
_BATCHES = {5_000: 20, 50_000: 2}


def _figures(place: Place, start: StartPlain) -> Figures:
    def batches(rows: int, place: Place) -> list[Batch]:
        place.say(f"{rows:,} rows a batch")
        return full_batches(place, start(place, rows), rows, at_most=_BATCHES[rows])

    batches(min(_BATCHES), replace(place, directory=place.directory / "cold"))
    return {f"{rows:,} rows a batch": rows_per_s(batches(rows, place)[1:]) for rows in _BATCHES}


def _start_ours(place: Place, rows: int) -> StreamingQuery:
    return start_ours(place, VISITS_SESSIONS.reading("visits_sessions_in").changed(max_offsets=rows), f"sessions-{rows}")


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
