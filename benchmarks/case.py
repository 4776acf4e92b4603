"""What a case is: the same work done two ways, the figures it gives, and how they should compare. Values only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Way = Literal["plain", "ours"]
# Figure by figure, in the order in which they are shown.
Figures = dict[str, float]


@dataclass(frozen=True)
class Place:
    """Where a case works: a Spark session of its own, a broker with the topics, an empty directory."""

    spark: SparkSession
    kafka: Mapping[str, str]
    # Of this run alone.
    directory: Path
    # Of the whole bench: what one run prepares, the next ones find.
    shared: Path
    say: Callable[[str], None]


Work = Callable[[Place], Figures]


@dataclass(frozen=True)
class Goal:
    """How ours should compare with the plain way, as ours / plain; or the most or the least that ours may be by itself."""

    at_least: float | None = None
    at_most: float | None = None
    within: float | None = None
    no_less_than: float | None = None

    def describe(self) -> str:
        if self.within is not None:
            return f"within {self.within:,.0f}"
        if self.no_less_than is not None:
            return f"no less than {self.no_less_than:,.0f}"
        return f"at least {self.at_least:g}x" if self.at_least is not None else f"at most {self.at_most:g}x"

    def is_reached(self, ours: float, ratio: float | None) -> bool | None:
        """None: there is nothing to compare with."""
        if self.within is not None:
            return ours <= self.within
        if self.no_less_than is not None:
            return ours >= self.no_less_than
        if ratio is None:
            return None
        return (self.at_least is None or ratio >= self.at_least) and (self.at_most is None or ratio <= self.at_most)


@dataclass(frozen=True)
class Case:
    name: str
    summary: str
    unit: str
    ours: Work
    # None: nothing to compare with, such as what the plain way would take hours for.
    plain: Work | None = None
    # By figure; one without a goal is only shown.
    goals: Mapping[str, Goal] | None = None
    rounds: int = 3

    def work(self, way: Way) -> Work | None:
        return self.ours if way == "ours" else self.plain
