"""What a person sees and is asked: data on stdout, messages on stderr, progress on everything that takes more than a second.

Everything that is written goes through here, and control characters are escaped here: names, keys and values may be hostile.
Every operation shows its plan and asks.
"""

from __future__ import annotations

import sys
import termios
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

from anabranch.cli import messages
from anabranch.errors import AnabranchError, Reason
from anabranch.text.format import escape_control_chars, escape_lines, escaped_json

if TYPE_CHECKING:
    from rich.console import Console

    from anabranch.project.project import Project

AsJson = Annotated[bool, typer.Option("--json", help="As JSON on stdout.")]
# Of every operation.
PlanAsJson = Annotated[bool, typer.Option("--json", help="The plan as JSON.")]
Yes = Annotated[bool, typer.Option("--yes", help="Apply without asking.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the plan, change nothing.")]


class Count(Protocol):
    """Takes how much is done, of how much, and what else there is to say about it."""

    def __call__(self, done: int, total: int, note: str = "") -> None: ...


@dataclass(frozen=True)
class Cli:
    """The options that every command has."""

    directory: Path
    quiet: bool
    debug: bool

    def project(self, options: dict[str, Any] | None = None) -> Project:
        from anabranch.project.project import open_project

        return open_project(self.directory, self.tell, options)

    def say(self, text: str) -> None:
        if not self.quiet:
            stderr().print(escape_lines(text), highlight=False, markup=False, soft_wrap=True)

    def say_all(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.say(line)

    def tell(self, reason: Reason) -> None:
        self.say(f"{reason.text}.")

    @contextmanager
    def busy(self, what: str) -> Iterator[None]:
        """Shows that something is under way: a spinner on a terminal, one line elsewhere."""
        console = stderr()
        if self.quiet:
            yield
        elif console.is_terminal:
            with console.status(what):
                yield
        else:
            self.say(f"{what} ...")
            yield

    @contextmanager
    def counting(self, what: str) -> Iterator[Count]:
        """A bar for things that are counted; nothing is shown before the first count."""
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        console = stderr()
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=console, disable=self.quiet or not console.is_terminal) as progress:
            task = progress.add_task(what, visible=False, total=None)
            said = -1

            def count(done: int, total: int, note: str = "") -> None:
                nonlocal said
                progress.update(task, description=f"{what}{note}", completed=done, total=total, visible=True)
                # Off a terminal: a line at the start, at the end, and at each tenth.
                tenth = 10 * done // max(1, total)
                if not console.is_terminal and tenth != said:
                    self.say(f"{what}: {done} of {total}{note}")
                said = tenth

            yield count


def cli_of(context: typer.Context) -> Cli:
    found = context.find_object(Cli)
    assert found is not None
    return found


def stderr() -> Console:
    from rich.console import Console

    return Console(stderr=True)


def write_error(error: AnabranchError, *, as_json: bool) -> None:
    """On stderr for people; with --json also on stdout, for programs."""
    if as_json:
        about = {**error.reason.as_json(), "remedies": list(error.remedies), "exit_code": error.exit_code}
        write_json({"error": about})
    write_message(str(error))


def write_message(text: str) -> None:
    sys.stderr.write(f"{escape_lines(text)}\n")


def write_json(value: object) -> None:
    sys.stdout.write(escaped_json(value, indent=2) + "\n")


def write_line(text: str) -> None:
    sys.stdout.write(escape_control_chars(text) + "\n")


def write_lines(lines: Iterable[str]) -> None:
    for line in lines:
        write_line(line)


def write_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Left-aligned columns, two spaces between them: readable on a screen, and by `awk`."""
    table = [[escape_control_chars(cell) for cell in row] for row in (columns, *rows)]
    widths = [max(len(row[i]) for row in table) for i in range(len(columns))]
    for row in table:
        write_line("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


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
    if yes:
        return
    # What was typed before the question was shown is no answer to it: nobody had read the plan then.
    termios.tcflush(sys.stdin, termios.TCIFLUSH)
    if not typer.confirm(question, err=True):
        raise messages.DECLINED()
