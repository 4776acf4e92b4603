"""Every operation shows its plan and asks: the options for that, and the question."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import typer

from anabranch.cli import messages
from anabranch.cli.output import write_json, write_lines

PlanAsJson = Annotated[bool, typer.Option("--json", help="The plan as JSON.")]
Yes = Annotated[bool, typer.Option("--yes", help="Apply without asking.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the plan, change nothing.")]


def show(lines: Iterable[str], plan: Mapping[str, Any], as_json: bool) -> None:
    if as_json:
        write_json(plan)
    else:
        write_lines(lines)


def check_answer(yes: bool, dry_run: bool) -> None:
    if yes and dry_run:
        raise messages.CONTRADICTION()
    if not (yes or dry_run or sys.stdin.isatty()):
        raise messages.CANNOT_PROMPT()


def confirm(yes: bool, question: str) -> None:
    if not yes and not typer.confirm(question, err=True):
        raise messages.DECLINED()
