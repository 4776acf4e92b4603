"""The commands of the README, and its picture: a checkpoint and the plan of a rewind, as the real commands print them.

UPDATE_PICTURES=1 writes it again. Ids, times and paths have fixed values, so that the bytes are the same every time.
"""

from __future__ import annotations

import io
import os
import re
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text

from tests.support.documents import README, run_document
from tests.support.harness import Project

pytestmark = pytest.mark.kafka

PICTURE = Path(__file__).parents[2] / "docs" / "images" / "rewind.svg"
WIDTH = 114
# The lines of a plan are folded behind their names.
_INDENT = " " * 14
# rich draws each character so wide.
_CHARACTER = 12.2
_LEADING_BLANKS = re.compile(r'x="([\d.]+)" (y="[\d.]+") textLength="([\d.]+)" ([^>]*)>((?:&#160;)+)')
_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?Z)( *)")
COMMANDS = ("anabranch checkpoint visits-lake", "anabranch rewind visits-lake --to-batch 3 --dry-run")


def test_every_command_in_the_readme_works_and_the_picture_is_what_two_of_them_print(
    make_project: Callable[[str], Project],
) -> None:
    project = make_project("picture")
    printed = run_document(README, project)
    picture = _picture([(command, _normalised(printed[command], project)) for command in COMMANDS])
    if os.environ.get("UPDATE_PICTURES"):
        PICTURE.parent.mkdir(exist_ok=True)
        PICTURE.write_text(picture, encoding="utf-8")
    assert picture == PICTURE.read_text(encoding="utf-8"), "the output has changed; to draw it again: UPDATE_PICTURES=1"


def _normalised(output: str, project: Project) -> str:
    times = dict.fromkeys(found[0] for found in _TIME.findall(output))
    fixed = {time: f"2025-09-04T09:{number:02}:00.000Z" for number, time in enumerate(times)}
    output = _TIME.sub(lambda found: fixed[found[1]].ljust(len(found[0])), output)
    for pattern, value in (
        (re.escape(str(project.directory.resolve())), "/data/visits"),
        (r"^Reading the checkpoint.*\n", ""),
        (r"\b\d{8}T\d{6}-rewind-[0-9a-f]{4}\b", "20250904T091500-rewind-1a2b"),
        (r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "6b1f3c52-8a0e-4d7f-9c35-2e4a7d90b1c8"),
        (r"\b[\dhms]+ before the newest", "4m before the newest"),
    ):
        output = re.sub(pattern, value, output)
    return output


def _picture(printed: list[tuple[str, str]]) -> str:
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    for command, output in printed:
        console.print(Text.assemble(("$ ", "bold green"), (command, "bold")), highlight=False)
        for line in _folded(output):
            console.print(Text(line), highlight=False, no_wrap=True)
        console.print()
    svg = console.export_svg(title="anabranch", unique_id="rewind")
    # Nothing in it is fetched from elsewhere: the reader's own monospaced font will do.
    alone = re.sub(r"\s*@font-face \{.*?\}|<!--.*?-->\s*", "", svg, flags=re.S)
    return _LEADING_BLANKS.sub(_moved, alone)


def _moved(found: re.Match[str]) -> str:
    """A text that begins further right: not every renderer keeps leading blanks."""
    indent = found[5].count(";") * _CHARACTER
    return f'x="{float(found[1]) + indent:.1f}" {found[2]} textLength="{float(found[3]) - indent:.1f}" {found[4]}>'


def _folded(output: str) -> Iterator[str]:
    for line in output.splitlines():
        indent = _INDENT if line.startswith("  ") else ""
        yield from textwrap.wrap(line, WIDTH, subsequent_indent=indent, drop_whitespace=True, break_long_words=False) or [""]
