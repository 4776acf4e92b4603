"""How wide the screen is and what it can show; tables and sentences that fit it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap

from anabranch.cli.output import write_line, write_lines
from anabranch.text.chart import ASCII, BLOCKS
from anabranch.text.format import escape_control_chars
from anabranch.text.layout import LEAST_WIDTH, Column, Laid, lay_out

# Where there is no terminal, and COLUMNS says nothing.
_USUAL_SIZE = (100, 24)
_ELLIPSIS = "…"


@dataclass(frozen=True)
class Screen:
    width: int
    # The characters of a picture, from low to high.
    bars: str
    ellipsis: str


def screen() -> Screen:
    """As COLUMNS says, else the terminal, else 100 columns."""
    width = max(LEAST_WIDTH, shutil.get_terminal_size(_USUAL_SIZE).columns)
    try:
        (BLOCKS + _ELLIPSIS).encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return Screen(width, ASCII, "...")
    return Screen(width, BLOCKS, _ELLIPSIS)


def fit_table(columns: Sequence[Column], rows: Sequence[Sequence[str]], on: Screen) -> Laid:
    return lay_out(columns, [[escape_control_chars(cell) for cell in row] for row in rows], on.width, on.ellipsis)


def write_wrapped(text: str, on: Screen) -> None:
    """A sentence over as many lines as it needs."""
    write_lines(wrap(escape_control_chars(text), on.width, subsequent_indent="  ", break_on_hyphens=False))


def write_remedies(remedies: Sequence[str]) -> None:
    """Each on one line, however long: it is copied."""
    for remedy in remedies:
        write_line(f"  -> {remedy}")
