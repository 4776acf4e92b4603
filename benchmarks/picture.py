"""The figures as bars, in an SVG of our own: how much better ours is. A bar that falls short of its goal is red.

Better is always longer: a time of half is drawn as twice as good. The scale is logarithmic, since 0.3x and 50x share it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from math import log2

from benchmarks.results import CaseResult, FigureResult

_WIDTH, _LABEL_WIDTH, _ROW_HEIGHT, _TOP = 860, 330, 30, 46
# From half as good to 64 times as good.
_FROM, _TO = -1.0, 6.0
_TICKS = (0.5, 1, 2, 4, 8, 16, 32, 64)
_OURS, _SHORT, _GRID, _INK = "#2a7f9e", "#c2573a", "#d9dde0", "#39424a"


def draw(results: Sequence[CaseResult]) -> str:
    rows = [(result, figure) for result in results for figure in result.figures if figure.ratio is not None]
    height = _TOP + _ROW_HEIGHT * len(rows) + 14
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" font-size="13">',
        f'<rect width="{_WIDTH}" height="{height}" fill="white"/>',
        f'<text x="10" y="18" fill="{_INK}">How much better ours is than the plain way (more is better)</text>',
        *_grid(height),
    ]
    for number, (result, figure) in enumerate(rows):
        lines.extend(_bar(result, figure, _TOP + _ROW_HEIGHT * number))
    return "\n".join([*lines, "</svg>"]) + "\n"


def _grid(height: int) -> Iterator[str]:
    for tick in _TICKS:
        x, width = _x(tick), 2 if tick == 1 else 1
        yield f'<line x1="{x:.0f}" y1="{_TOP - 6}" x2="{x:.0f}" y2="{height - 10}" stroke="{_GRID}" stroke-width="{width}"/>'
        yield f'<text x="{x:.0f}" y="{_TOP - 10}" fill="{_INK}" font-size="11" text-anchor="middle">{tick:g}x</text>'


def _bar(result: CaseResult, figure: FigureResult, y: int) -> Iterator[str]:
    assert figure.ratio is not None
    better = figure.ratio if result.unit.endswith("/s") else 1 / figure.ratio
    start, end = sorted((_x(1), _x(better)))
    color = _SHORT if figure.is_reached is False else _OURS
    yield f'<text x="10" y="{y + 17}" fill="{_INK}">{escape(f"{result.name}: {figure.name}")}</text>'
    yield f'<rect x="{start:.0f}" y="{y + 5}" width="{max(1, end - start):.0f}" height="16" rx="2" fill="{color}"/>'
    yield f'<text x="{end + 6:.0f}" y="{y + 17}" fill="{_INK}" font-weight="bold">{better:.2f}x</text>'


def _x(better: float) -> float:
    share = (min(max(log2(better), _FROM), _TO) - _FROM) / (_TO - _FROM)
    return _LABEL_WIDTH + share * (_WIDTH - _LABEL_WIDTH - 60)
