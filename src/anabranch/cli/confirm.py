"""Every operation shows its plan and asks: the options for that, and the question."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Annotated, Any

import typer

from anabranch.cli.output import write_json, write_line
from anabranch.errors import Misused, Refused

AsJson = Annotated[bool, typer.Option("--json", help="The plan as JSON.")]
Yes = Annotated[bool, typer.Option("--yes", help="Go on without asking.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the plan, change nothing.")]


def show(lines: Iterable[str], plan: dict[str, Any], as_json: bool) -> None:
    if as_json:
        write_json(plan)
    else:
        for line in lines:
            write_line(line)


def check_answer(yes: bool, dry_run: bool) -> None:
    if yes and dry_run:
        raise Misused("--yes and --dry-run contradict each other.", "give one of them")
    if not (yes or dry_run or sys.stdin.isatty()):
        raise Misused("without a terminal nobody can be asked.", "--dry-run shows the plan", "--yes goes on")


def confirm(yes: bool, question: str) -> None:
    if not yes and not typer.confirm(question, err=True):
        raise Refused("nothing was changed.")
