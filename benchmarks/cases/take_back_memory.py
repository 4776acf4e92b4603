"""The memory of the same two commands."""

from __future__ import annotations

from benchmarks.case import Case, Figures, Goal, Place
from benchmarks.cases import take_back


def _ours(place: Place) -> Figures:
    return {name: cost.memory_mb for name, cost in take_back.run(place).items()}


CASE = Case(
    name="take_back_memory",
    summary=f"{take_back.CASE.summary}: peak memory",
    unit="MB",
    ours=_ours,
    goals={"checkpoint": Goal(within=200), "rewind": Goal(within=200)},
    rounds=1,
)
