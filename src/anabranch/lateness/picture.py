"""The delays that records needed, as a picture: above how many would be late, below how many windows would be wrong. Pure.

One SVG file that needs nothing else: no script, no font, no style from elsewhere. It is as light or dark as what shows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Literal

import svg

from anabranch.lateness.curve import TODAY, Needed, Needs, delays_s
from anabranch.lateness.explain import headline, looked_at
from anabranch.lateness.report import Lateness
from anabranch.lateness.scale import Scale, round_counts, round_delays_s
from anabranch.text.format import format_duration

Anchor = Literal["start", "middle", "end"]
_WIDTH, _LEFT, _RIGHT = 860, 74, 836
# Each mark has a line of its own for its label: none is over another.
_HEAD, _LABEL_HEIGHT = 58, 18
_PANEL_HEIGHT, _PANEL_GAP, _FOOT = 150, 44, 46
_TICKS_APART_X, _TICKS_APART_Y = 54.0, 16.0
# Behind this part of the width a label stands on the left of its line.
_LABEL_TURNS = 0.72
# Steps that are closer, in pixels, cannot be told apart.
_STEP = 0.5
_STYLE = """
text { font-family: system-ui, sans-serif; font-size: 12px; fill: #39424a }
.title { font-size: 15px; font-weight: 600; fill: #14191d }
.ground { fill: #ffffff }
.grid { stroke: #e1e5e8; stroke-width: 1 }
.axis { stroke: #8a959d; stroke-width: 1 }
.records { stroke: #0b6e99; fill: none; stroke-width: 2 }
.windows { stroke: #a8490b; fill: none; stroke-width: 2 }
.under-records { fill: #0b6e99; fill-opacity: .12 }
.under-windows { fill: #a8490b; fill-opacity: .12 }
.mark { stroke: #6b7780; stroke-width: 1; stroke-dasharray: 2 3 }
.today { stroke: #14191d; stroke-width: 1.5; stroke-dasharray: 6 3 }
.panel { font-weight: 600 }
.panel, .label { stroke: #ffffff; stroke-width: 4; paint-order: stroke }
.today-label { font-weight: 600; fill: #14191d }
@media (prefers-color-scheme: dark) {
  text { fill: #b9c4cc }
  .title, .today-label { fill: #f2f5f7 }
  .ground { fill: #12171b }
  .panel, .label { stroke: #12171b }
  .grid { stroke: #2a333a }
  .axis { stroke: #6b7780 }
  .records { stroke: #5cc0ea }
  .windows { stroke: #f0a35e }
  .under-records { fill: #5cc0ea }
  .under-windows { fill: #f0a35e }
  .mark { stroke: #8a959d }
  .today { stroke: #f2f5f7 }
}
"""


def picture(found: Lateness, needs: Needs) -> str:
    marks = delays_s(found.delays)
    unit_s = needs.unit_ms / 1000
    greatest_s = max(*marks.values(), unit_s) * 1.15
    # So that there is room before the shortest one that is marked; nothing is told apart that is shorter than a unit.
    shortest_s = min((one for one in marks.values() if one > 0), default=greatest_s)
    across = Scale(max(unit_s, min(greatest_s / 100, shortest_s / 4)), greatest_s, _LEFT, _RIGHT)
    top = _HEAD + len(marks) * _LABEL_HEIGHT + 30
    below = top + _PANEL_HEIGHT + _PANEL_GAP
    bottom = below + _PANEL_HEIGHT
    elements: list[svg.Element] = [
        svg.Title(text=escape(f"Watermark delays of {found.pipeline}")),
        svg.Desc(text=escape(headline(found))),
        svg.Style(text=_STYLE),
        svg.Rect(x=0, y=0, width=_WIDTH, height=bottom + _FOOT, class_=["ground"]),
        _text(16, 26, f"{found.pipeline}: what each watermark delay would have counted", "title"),
        _text(16, 45, looked_at(found)),
        *_delay_axis(across, top, bottom),
        *_panel("records", needs.records, unit_s, across, top),
        *_panel("windows", needs.windows, unit_s, across, below),
        *_marks(marks, across, bottom),
        _text(_LEFT, top - 10, f"records late, of {found.records:,}", "panel"),
        _text(_LEFT, below - 10, f"windows wrong, of {found.windows:,}", "panel"),
    ]
    drawn = svg.SVG(viewBox=svg.ViewBoxSpec(0, 0, _WIDTH, bottom + _FOOT), elements=elements, extra={"role": "img"})
    return f"{drawn.as_str()}\n"


def _text(x: float, y: float, words: str, style: str | None = None, anchor: Anchor = "start") -> svg.Element:
    """The library takes text as markup."""
    return svg.Text(x=x, y=y, text=escape(words), class_=[style] if style else None, text_anchor=anchor)


def _delay_axis(across: Scale, top: int, bottom: int) -> Iterator[svg.Element]:
    for delay_s in across.ticks(round_delays_s(), _TICKS_APART_X):
        x = across.place(delay_s)
        yield svg.Line(x1=x, x2=x, y1=top, y2=bottom, class_=["grid"])
        yield _text(x, bottom + 18, format_duration(delay_s), anchor="middle")
    yield _text((_LEFT + _RIGHT) / 2, bottom + 38, "watermark delay", anchor="middle")


def _panel(name: str, needed: Needed, unit_s: float, across: Scale, top: int) -> Iterator[svg.Element]:
    most, bottom = needed.late(0), top + _PANEL_HEIGHT
    up = Scale(1.0, max(1.0, most * 1.1), bottom, top)
    for value in up.ticks(round_counts(most), _TICKS_APART_Y):
        y = up.place(value)
        yield svg.Line(x1=_LEFT, x2=_RIGHT, y1=y, y2=y, class_=["grid" if value else "axis"])
        yield _text(_LEFT - 8, y + 4, f"{value:,.0f}", anchor="end")
    steps = list(_steps(needed, unit_s, across, up))
    yield svg.Polygon(points=[svg.Point(_LEFT, bottom), *steps, svg.Point(_RIGHT, bottom)], class_=[f"under-{name}"])
    yield svg.Polyline(points=steps, class_=[name])


def _steps(needed: Needed, unit_s: float, across: Scale, up: Scale) -> Iterator[svg.Point]:
    """The corners: the count falls where the delay is one unit more than what some needed."""
    y = up.place(needed.late(0))
    yield svg.Point(_LEFT, y)
    seen = float(_LEFT)
    for unit in needed.units:
        x = across.place((unit + 1) * unit_s)
        if x - seen >= _STEP or unit == needed.units[-1]:
            yield svg.Point(x, y)
            seen, y = x, up.place(needed.late(unit + 1))
            yield svg.Point(x, y)
    yield svg.Point(_RIGHT, y)


def _marks(marks: Mapping[str, float], across: Scale, bottom: int) -> Iterator[svg.Element]:
    """Today's delay, and the shortest ones that count so much: each line ends at a label in a row of its own."""
    placed = [(mark, delay_s, across.place(delay_s)) for mark, delay_s in sorted(marks.items(), key=lambda one: one[::-1])]
    for row, (mark, _, x) in enumerate(placed):
        style = "today" if mark == TODAY else "mark"
        yield svg.Line(x1=x, x2=x, y1=_HEAD + row * _LABEL_HEIGHT + 4, y2=bottom, class_=[style])
    for row, (mark, delay_s, x) in enumerate(placed):
        words = f"{mark}: {format_duration(delay_s)}" if mark == TODAY else f"{mark} counted: {format_duration(delay_s)}"
        turned = x > _LEFT + (_RIGHT - _LEFT) * _LABEL_TURNS
        anchor: Anchor = "end" if turned else "start"
        y = _HEAD + row * _LABEL_HEIGHT + 14
        yield _text(x - 6 if turned else x + 6, y, words, "label today-label" if mark == TODAY else "label", anchor)
