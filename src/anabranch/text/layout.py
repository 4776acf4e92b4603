"""Tables that fit a width, and figures that say how much of them is known.

A cell that is too long is cut; a table that is too wide even then becomes one block for each row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_GAP = "  "
_INDENT = "  "
# Below it nothing is readable: a screen that says it is narrower gets longer lines.
LEAST_WIDTH = 20


@dataclass(frozen=True)
class Column:
    title: str
    # How narrow it may become. None: it is never cut, a part of a number is another number.
    least: int | None = None
    # Whether a cut keeps both ends: names often differ in their last letters.
    keeps_end: bool = False


@dataclass(frozen=True)
class Laid:
    """The lines of a table: those above it, and those of each row."""

    head: list[str]
    rows: list[list[str]]

    @property
    def lines(self) -> list[str]:
        return [*self.head, *(line for row in self.rows for line in row)]


def lay_out(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int, ellipsis: str = "…") -> Laid:
    """The first column names a row: where two names would be cut to the same, there are blocks."""
    width = max(width, LEAST_WIDTH)
    titles = [column.title for column in columns]
    widths = _fitted(columns, [max(map(len, cells)) for cells in zip(titles, *rows, strict=True)], width)
    if widths is None:
        return _blocks(titles, rows, width, ellipsis)
    head, *lines = (_line(row, columns, widths, ellipsis) for row in (titles, *rows))
    names = {cut(row[0], widths[0], ellipsis, keeps_end=columns[0].keeps_end) for row in rows}
    if len(names) < len({row[0] for row in rows}):
        return _blocks(titles, rows, width, ellipsis)
    return Laid([head], [[line] for line in lines])


def _fitted(columns: Sequence[Column], natural: Sequence[int], width: int) -> list[int] | None:
    """The widest of those that may be cut are cut first; None: it does not fit."""
    widths = list(natural)
    excess = sum(widths) + len(_GAP) * (len(widths) - 1) - width
    for _ in range(excess):
        spare = [i for i, column in enumerate(columns) if column.least is not None and widths[i] > column.least]
        if not spare:
            return None
        widths[max(spare, key=widths.__getitem__)] -= 1
    return widths


def _line(row: Sequence[str], columns: Sequence[Column], widths: Sequence[int], ellipsis: str) -> str:
    placed = zip(row, columns, widths, strict=True)
    cells = (cut(cell, width, ellipsis, keeps_end=column.keeps_end).ljust(width) for cell, column, width in placed)
    return _GAP.join(cells).rstrip()


def cut(text: str, width: int, ellipsis: str = "…", *, keeps_end: bool = False) -> str:
    if len(text) <= width:
        return text
    kept = max(0, width - len(ellipsis))
    if keeps_end:
        tail = kept // 2
        return f"{text[: kept - tail]}{ellipsis}{text[len(text) - tail :]}"[:width]
    # Behind a word, where there are several: half of a time would be read as another.
    words, _, part = text[:kept].rpartition(" ")
    return f"{words if words and part else text[:kept].rstrip()}{ellipsis}"[:width]


def _blocks(titles: Sequence[str], rows: Sequence[Sequence[str]], width: int, ellipsis: str) -> Laid:
    label = max(map(len, titles[1:]), default=0)
    room = width - len(_INDENT) - label - len(_GAP)
    blocks = []
    for name, *cells in rows:
        below = zip(titles[1:], cells, strict=True)
        lines = [f"{_INDENT}{title.ljust(label)}{_GAP}{cut(cell, room, ellipsis)}" for title, cell in below]
        blocks.append([cut(name, width, ellipsis, keeps_end=True), *lines])
    return Laid([], blocks)


def figure(count: int | None, *, at_least: bool = False, exact: bool = True) -> str:
    """`1,203`; `1,203+` if it may be more, `~1,203` if it is not exact, `?` if it is not known."""
    return "?" if count is None else f"{'' if exact else '~'}{count:,}{'+' if at_least else ''}"


def short_duration(duration_s: float) -> str:
    """In its greatest unit: `4m`. Below 0, as clocks that differ make it, it keeps its sign."""
    whole_s = int(abs(duration_s))
    for unit, unit_s in (("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)):
        if whole_s >= unit_s:
            return f"{'-' if duration_s < 0 else ''}{whole_s // unit_s}{unit}"
    return "0s"
