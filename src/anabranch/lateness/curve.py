"""From the delay that each record needed to a table: with which delay how many would have been late. Pure.

A record that needs n units of delay is late with a delay of n or less, and counted with n+1. Delays are whole units, so what is
said of each is exact; the unit is a second, or less where the pipeline's own times are finer.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import gcd

from anabranch.pipeline.windows import Windows

_SECOND_MS = 1000
_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86_400
# Delays that people choose.
ROUND_S = (
    *(1, 2, 5, 10, 30),
    *(_MINUTE_S * n for n in (1, 2, 5, 10, 20, 30)),
    *(_HOUR_S * n for n in (1, 2, 6, 12)),
    *(_DAY_S * n for n in (1, 2, 7, 30, 365)),
)
# More are no easier to choose from.
_MOST_ROUND = 5
TODAY, ALL = "today", "all"
# What is counted, and of how many records one may be late.
SHARES = (("99.9 %", 1000), ("99.99 %", 10_000))


def unit_ms_of(windows: Windows, delay_ms: int) -> int:
    return gcd(_SECOND_MS, windows.length_ms, windows.slide_ms, delay_ms)


@dataclass(frozen=True)
class Needed:
    """What records, or windows, needed. A window is wrong as long as one record of it is late."""

    total: int
    # Rising; of those alone that would be late without a delay.
    units: Sequence[int]
    # How many need this or more.
    counts: Sequence[int]

    def late(self, delay: int) -> int:
        """How many would be late with this delay, in units."""
        index = bisect_left(self.units, delay)
        return self.counts[index] if index < len(self.counts) else 0

    def least_delay(self, late: int) -> int:
        """The shortest with which no more than this would be late, in units."""
        index = bisect_left(self.counts, -late, key=lambda count: -count)
        return self.units[index - 1] + 1 if index else 0


def needed_of(total: int, by_unit: Mapping[int, int]) -> Needed:
    """`by_unit`: needed units of delay -> how many. A need below 0 is none."""
    units = sorted(unit for unit in by_unit if unit >= 0)
    counts = list(accumulate(by_unit[unit] for unit in reversed(units)))
    return Needed(total, units, counts[::-1])


@dataclass(frozen=True)
class Needs:
    unit_ms: int
    records: Needed
    windows: Needed


@dataclass(frozen=True)
class DelayRow:
    """What a delay would have given."""

    # The delay.
    delay_s: float
    # What it is: `today`, `99.9 %`, `99.99 %` and `all` (the shortest delays that count so many of the records), or nothing.
    marks: tuple[str, ...]
    # Records that would have been late.
    late: int
    # Windows that would have lacked one of them.
    windows_wrong: int
    # How much later windows would have closed than with today's delay, in event time; below 0: earlier.
    later_s: float


def curve(needs: Needs, delay_s: float) -> list[DelayRow]:
    """By delay. `delay_s`: today's."""
    marked: dict[int, tuple[str, ...]] = dict.fromkeys(_round(needs, delay_s), ())
    for mark, delay in _marks(needs, delay_s):
        marked[delay] = (*marked.get(delay, ()), mark)
    return [_row(needs, delay, marks, delay_s) for delay, marks in sorted(marked.items())]


def delays_s(rows: Iterable[DelayRow]) -> dict[str, float]:
    """What is marked -> its delay."""
    return {mark: row.delay_s for row in rows for mark in row.marks}


def _marks(needs: Needs, delay_s: float) -> Iterable[tuple[str, int]]:
    yield TODAY, _units(needs, delay_s)
    for mark, of in SHARES:
        yield mark, needs.records.least_delay(needs.records.total // of)
    yield ALL, needs.records.least_delay(0)


def _round(needs: Needs, delay_s: float) -> list[int]:
    """None at all, and a few round ones that are shorter than what was needed or is in use, spread over them."""
    greatest = max(_units(needs, delay_s), needs.records.least_delay(0))
    shorter = [_units(needs, one) for one in ROUND_S if one * 1000 % needs.unit_ms == 0 and _units(needs, one) < greatest]
    # Every nth, with the longest.
    return [0, *shorter[::-1][:: -(-len(shorter) // _MOST_ROUND) or 1]]


def _units(needs: Needs, delay_s: float) -> int:
    return round(delay_s * 1000) // needs.unit_ms


def _row(needs: Needs, delay: int, marks: tuple[str, ...], today_s: float) -> DelayRow:
    delay_ms = delay * needs.unit_ms
    return DelayRow(
        delay_s=delay_ms / 1000,
        marks=marks,
        late=needs.records.late(delay),
        windows_wrong=needs.windows.late(delay),
        later_s=(delay_ms - round(today_s * 1000)) / 1000,
    )
