"""A picture of figures over time in a line of text: one character for each slice of time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

BLOCKS = "▁▂▃▄▅▆▇█"
ASCII = ".:-=+*#@"
_UNKNOWN = "?"
_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86_400
# The lengths of a slice that people think in.
_SLICES_S = (
    *(1, 2, 5, 10, 15, 30),
    *(_MINUTE_S * n for n in (1, 2, 5, 10, 15, 30)),
    *(_HOUR_S * n for n in (1, 2, 3, 6, 12)),
    *(_DAY_S * n for n in (1, 2, 7, 30, 365)),
)


def slice_length_s(period_s: float, most: int) -> int:
    """The shortest with which a period has at most so many slices."""
    needed_s = period_s / most
    longest_s = _SLICES_S[-1]
    return next((length_s for length_s in _SLICES_S if length_s >= needed_s), math.ceil(needed_s / longest_s) * longest_s)


def slices(moments: Iterable[tuple[float, int | None]], start_s: float, length_s: int, count: int) -> list[int | None]:
    """The sums of figures at their moments. One that is not known makes its slice unknown; what is outside is at its edge."""
    sums: list[int | None] = [0] * count
    for at_s, figure in moments:
        place = min(max(0, int((at_s - start_s) // length_s)), count - 1)
        before = sums[place]
        sums[place] = None if figure is None or before is None else before + figure
    return sums


def bars(figures: Sequence[int | None], marks: str = BLOCKS) -> str:
    """As high as the greatest is full; what is more than 0 is seen, and what is not known is a question mark."""
    greatest = max((figure for figure in figures if figure), default=1)
    return "".join(_bar(figure, greatest, marks) for figure in figures)


def _bar(figure: int | None, greatest: int, marks: str) -> str:
    if figure is None:
        return _UNKNOWN
    return marks[math.ceil(figure * len(marks) / greatest) - 1] if figure > 0 else " "


def axis(first: str, last: str, width: int) -> str:
    """Two labels below a picture, at its ends; the last alone where there is no room for both."""
    gap = width - len(first) - len(last)
    return f"{first}{' ' * gap}{last}" if gap > 0 else last.rjust(width)
