"""A table as Spark's own `show` draws it, untruncated, with control characters escaped.

Drawn here because Spark would run a second query for it, 30 to 50 ms of every batch and as much again for a thousand rows,
and would pass control characters in a value to the terminal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from anabranch.text.format import escape_control_chars

_NARROWEST = 3
# Spark writes these out, so that a value cannot break the table.
_ESCAPES = str.maketrans({"\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f", "\b": "\\b", "\v": "\\v", "\a": "\\a"})
# Characters that take two columns: Spark's own ranges, and all that Java holds as two.
_WIDE = re.compile(
    "[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\U00010000-\U0010ffff]"
)


def draw(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [[_safe(cell) for cell in row] for row in (names, *rows)]
    widths = [max(_NARROWEST, *map(_width, column)) for column in zip(*lines, strict=True)]
    rule = f"+{'+'.join('-' * width for width in widths)}+"
    head, *body = (f"|{'|'.join(map(_padded, line, widths))}|" for line in lines)
    return "\n".join((rule, head, rule, *body, rule, ""))


def _safe(text: str) -> str:
    return text if text.isprintable() else escape_control_chars(text.translate(_ESCAPES))


def _width(text: str) -> int:
    return len(text) if text.isascii() else len(text) + len(_WIDE.findall(text))


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _width(text))
