"""Where values are on an axis that shows small and great ones alike, and which of them are labelled. Pure.

Near 0 it is linear, above as a logarithm: a delay of a minute and one of a week are both seen, and so is 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import log1p

from anabranch.lateness.curve import ROUND_S


@dataclass(frozen=True)
class Scale:
    # What is shown as much as nothing: below it the axis is nearly linear.
    least: float
    greatest: float
    # Where 0 and the greatest are, in pixels.
    begin: float
    end: float

    def place(self, value: float) -> float:
        part = log1p(value / self.least) / log1p(self.greatest / self.least)
        return round(self.begin + (self.end - self.begin) * part, 1)

    def ticks(self, wanted: Iterable[float], apart: float) -> list[float]:
        """0, and those of the wanted that are so far from the one before, in pixels."""
        shown = [0.0]
        for value in wanted:
            if value <= self.greatest and abs(self.place(value) - self.place(shown[-1])) >= apart:
                shown.append(value)
        return shown


def round_delays_s() -> list[float]:
    """Those that people choose; below a second, by tens."""
    return [0.01, 0.1, *map(float, ROUND_S)]


def round_counts(greatest: int) -> list[float]:
    """1, 10, 100 and so on."""
    return [float(10**power) for power in range(len(str(greatest)))]
