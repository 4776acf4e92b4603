"""The time of a micro-batch of 50 rows: what a stream that is not busy costs, and how soon a result is seen."""

from __future__ import annotations

from anabranch.pipeline.builtin.visits_windows import VISITS_WINDOWS
from benchmarks import plain
from benchmarks.case import Case, Figures, Goal, Place
from benchmarks.streams import StartPlain, duration_ms, full_batches, start_ours

_ROWS = 50
_BATCHES = 220
# Small batches compile slowly: there is little to see of each method.
_COLD_BATCHES = 180


def _figures(place: Place, start: StartPlain) -> Figures:
    batches = full_batches(place, start(place, _ROWS), _ROWS, at_most=_BATCHES)
    return {"batch of 50 rows": duration_ms(batches[_COLD_BATCHES:])}


def _ours(place: Place) -> Figures:
    return _figures(place, lambda place, rows: start_ours(place, VISITS_WINDOWS.changed(max_offsets=rows)))


def _plain(place: Place) -> Figures:
    return _figures(place, plain.windows)


CASE = Case(
    name="small_batch",
    summary="visits-windows, 50 rows a batch",
    unit="ms",
    ours=_ours,
    plain=_plain,
    goals={"batch of 50 rows": Goal(at_most=0.6)},
)
