"""Rows a second of the three windowed pipelines, warm, all rules of the decoder on."""

from __future__ import annotations

from anabranch.core.pipeline import BROWSERS_STATEFUL, VISITS_COUNTER, VISITS_WINDOWS
from benchmarks import plain
from benchmarks.case import Case, Figures, Goal, Place
from benchmarks.streams import full_batches, rows_per_s, start_ours

_ROWS = 100_000
# Compilation: the first batch takes seconds whatever one does, the second still has some of it.
_COLD_BATCHES = 2
_PIPELINES = {VISITS_WINDOWS: plain.windows, VISITS_COUNTER: plain.counter, BROWSERS_STATEFUL: plain.browsers}


def _ours(place: Place) -> Figures:
    figures = {}
    for pipeline in _PIPELINES:
        place.say(pipeline.name)
        batches = full_batches(place, start_ours(place, pipeline.changed(max_offsets=_ROWS)), _ROWS)
        figures[pipeline.name] = rows_per_s(batches[_COLD_BATCHES:])
    return figures


def _plain(place: Place) -> Figures:
    figures = {}
    for pipeline, start_plain in _PIPELINES.items():
        place.say(pipeline.name)
        batches = full_batches(place, start_plain(place, _ROWS), _ROWS)
        figures[pipeline.name] = rows_per_s(batches[_COLD_BATCHES:])
    return figures


CASE = Case(
    name="throughput",
    summary="100,000 rows a batch from Kafka into windows, with all rules",
    unit="rows/s",
    ours=_ours,
    plain=_plain,
    goals={pipeline.name: Goal(at_least=1.25) for pipeline in _PIPELINES},
)
