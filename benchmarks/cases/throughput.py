"""Rows a second of the three windowed pipelines, all rules of the decoder on.

Warm: each reads the topic once, which does not count, and then, when all have, twice more. Java compiles meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from pyspark.sql.streaming.query import StreamingQuery

from anabranch.pipeline.builtin.browsers_stateful import BROWSERS_STATEFUL
from anabranch.pipeline.builtin.visits_counter import VISITS_COUNTER
from anabranch.pipeline.builtin.visits_windows import VISITS_WINDOWS
from anabranch.pipeline.definition import Pipeline
from benchmarks import plain
from benchmarks.case import Case, Figures, Goal, Place
from benchmarks.streams import Batch, full_batches, rows_per_s, start_ours

_ROWS = 100_000
_PIPELINES = {VISITS_WINDOWS: plain.windows, VISITS_COUNTER: plain.counter, BROWSERS_STATEFUL: plain.browsers}


def _figures(place: Place, starts: Mapping[Pipeline, Callable[[Place], StreamingQuery]]) -> Figures:
    def batches(pipeline: Pipeline, reading: str) -> list[Batch]:
        place.say(f"{pipeline.name}, {reading} reading")
        return full_batches(place, starts[pipeline](replace(place, directory=place.directory / reading)), _ROWS)

    for pipeline in starts:
        batches(pipeline, "cold")
    return {one.name: rows_per_s([*batches(one, "first"), *batches(one, "second")]) for one in starts}


def _ours(place: Place) -> Figures:
    return _figures(place, {one: partial(start_ours, pipeline=one.changed(max_offsets=_ROWS)) for one in _PIPELINES})


def _plain(place: Place) -> Figures:
    return _figures(place, {one: partial(start, max_offsets=_ROWS) for one, start in _PIPELINES.items()})


CASE = Case(
    name="throughput",
    summary="100,000 rows a batch from Kafka into windows, with all rules",
    unit="rows/s",
    ours=_ours,
    plain=_plain,
    goals={pipeline.name: Goal(at_least=1.25) for pipeline in _PIPELINES},
)
