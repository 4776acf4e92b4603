"""Rows a second of the three windowed pipelines, all rules of the decoder on.

Warm: the topic is read twice, and the second time counts. Java compiles while it is read for the first time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from pyspark.sql.streaming.query import StreamingQuery

from anabranch.core.pipeline import BROWSERS_STATEFUL, VISITS_COUNTER, VISITS_WINDOWS, Pipeline
from benchmarks import plain
from benchmarks.case import Case, Figures, Goal, Place
from benchmarks.streams import full_batches, rows_per_s, start_ours

_ROWS = 100_000
_PIPELINES = {VISITS_WINDOWS: plain.windows, VISITS_COUNTER: plain.counter, BROWSERS_STATEFUL: plain.browsers}


def _figures(place: Place, starts: Mapping[Pipeline, Callable[[Place], StreamingQuery]]) -> Figures:
    figures = {}
    for pipeline, start in starts.items():
        place.say(pipeline.name)
        full_batches(place, start(replace(place, directory=place.directory / "cold")), _ROWS)
        figures[pipeline.name] = rows_per_s(full_batches(place, start(place), _ROWS))
    return figures


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
