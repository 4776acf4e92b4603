"""Rows a second of the three windowed pipelines, all rules of the decoder on.

Warm: the topic is read twice, and the second time counts. Java compiles while it is read for the first time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from pyspark.sql.streaming.query import StreamingQuery

from anabranch.core.pipeline import BROWSERS_STATEFUL, VISITS_COUNTER, VISITS_WINDOWS
from benchmarks import plain
from benchmarks.case import Case, Figures, Goal, Place
from benchmarks.streams import full_batches, rows_per_s, start_ours

_ROWS = 100_000
_PIPELINES = {VISITS_WINDOWS: plain.windows, VISITS_COUNTER: plain.counter, BROWSERS_STATEFUL: plain.browsers}


def _warm(place: Place, start: Callable[[Place], StreamingQuery]) -> float:
    full_batches(place, start(replace(place, directory=place.directory / "cold")), _ROWS)
    return rows_per_s(full_batches(place, start(place), _ROWS))


def _ours(place: Place) -> Figures:
    figures = {}
    for pipeline in _PIPELINES:
        place.say(pipeline.name)
        figures[pipeline.name] = _warm(place, partial(start_ours, pipeline=pipeline.changed(max_offsets=_ROWS)))
    return figures


def _plain(place: Place) -> Figures:
    figures = {}
    for pipeline, start_plain in _PIPELINES.items():
        place.say(pipeline.name)
        figures[pipeline.name] = _warm(place, partial(start_plain, max_offsets=_ROWS))
    return figures


CASE = Case(
    name="throughput",
    summary="100,000 rows a batch from Kafka into windows, with all rules",
    unit="rows/s",
    ours=_ours,
    plain=_plain,
    goals={pipeline.name: Goal(at_least=1.25) for pipeline in _PIPELINES},
)
