"""What a person sees and is asked: data on stdout, messages on stderr, progress on everything that takes more than a second.

Everything that is written goes through here, and control characters are escaped here: names, keys and values may be hostile.
Every operation shows its plan and asks.
"""

from __future__ import annotations

import os
import sys
import termios
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from fcntl import F_GETFL, fcntl
from io import TextIOWrapper
from pathlib import Path
from select import POLLERR, poll
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anabranch.cli import messages, progress
from anabranch.cli.progress import Phase
from anabranch.errors import AnabranchError, Reason
from anabranch.text.format import escape_control_chars, escape_lines, escaped_json

if TYPE_CHECKING:
    from rich.console import Console

    from anabranch.project.project import Project
    from anabranch.project.session import Count

# The exit code of a command that looks, and has found something wrong.
FOUND = 4

AsJson = Annotated[bool, typer.Option("--json", help="As JSON on stdout.")]
# Of every operation.
PlanAsJson = Annotated[bool, typer.Option("--json", help="The plan as JSON.")]
Yes = Annotated[bool, typer.Option("--yes", help="Apply without asking.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the plan, change nothing.")]
# Of what runs on Spark.
Master = Annotated[
    str | None, typer.Option(metavar="spark://HOST:PORT", help="The Spark cluster to run on; without it, this machine.")
]


def on_master(master: str | None) -> dict[str, str]:
    """The Spark setting that the option stands for."""
    return {} if master is None else {"spark.master": master}


@dataclass(frozen=True)
class Cli:
    """The options that every command has."""

    directory: Path
    quiet: bool
    debug: bool

    def project(self, options: dict[str, Any] | None = None) -> Project:
        from anabranch.project.project import open_project

        return open_project(self.directory, self.tell, options)

    def project_as_read(self) -> Project:
        """The same, for a command about pipelines that imports none of their code: says where that has changed since."""
        project = self.project()
        for note in project.notes:
            self.tell(note)
        return project

    def say(self, text: str) -> None:
        if not self.quiet:
            with _lost_if_unread():
                stderr().print(escape_lines(text), highlight=False, markup=False, soft_wrap=True)

    def say_all(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.say(line)

    def tell(self, reason: Reason) -> None:
        self.say(f"{reason.text}.")

    @contextmanager
    def busy(self, what: str, hint: str = "") -> Iterator[Phase]:
        """Shows that something is under way; what it yields names what it waits for. `hint` is added to what lasts."""
        if self.quiet:
            yield lambda _name: None
        else:
            with progress.busy(stderr(), self.say, escape_control_chars(what), escape_control_chars(hint)) as phase:
                yield phase

    @contextmanager
    def counting(self, what: str) -> Iterator[Count]:
        """A bar for things that are counted; nothing is shown before the first count."""
        with progress.counting(stderr(), self.say, what, self.quiet) as count:
            yield count


def cli_of(context: typer.Context) -> Cli:
    found = context.find_object(Cli)
    assert found is not None
    return found


def stderr() -> Console:
    from rich.console import Console

    class Messages(Console):
        def on_broken_pipe(self) -> None:
            """rich would end the command; what nobody reads is not said, and that is all."""

    return Messages(stderr=True)


def open_standard_streams() -> None:
    """Whatever the shell has closed is opened again, so that no file of ours gets the number of stdout or stderr.

    A closed stdin or stdout fails as soon as it is used: its null device is opened the wrong way round. What is said on a
    closed stderr is lost.
    """
    for number, mode in enumerate((os.O_WRONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, mode)  # takes the lowest number that is free: this one
    sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        # A terminal that has no such character, and names that are no UTF-8: shown as escapes, never an error.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def check_output() -> None:
    """Refuses at the start what would fail at its first line."""
    if fcntl(sys.stdout.fileno(), F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
        raise messages.OUTPUT_CLOSED()


def is_reader_gone() -> bool:
    """Whether nobody reads our output any more, as behind `| head`."""
    poller = poll()
    poller.register(sys.stdout.fileno(), 0)
    return any(event & POLLERR for _, event in poller.poll(0))


def check_reader() -> None:
    """Ends what only waits, and would not notice."""
    if is_reader_gone():
        raise BrokenPipeError


def drop_unwritten() -> None:
    """What could not be written, and was told: Python would try once more at its exit, and complain."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def write_error(error: AnabranchError, *, as_json: bool) -> None:
    """On stderr for people; with --json also on stdout, for programs."""
    if as_json:
        write_json(errors_json([error]))
    write_message(str(error))


def errors_json(errors: Sequence[AnabranchError]) -> dict[str, Any]:
    """The first as `error`; all as `errors` where there are more."""
    found = [{**one.reason.as_json(), "remedies": list(one.remedies), "exit_code": one.exit_code} for one in errors]
    return {"error": found[0], "errors": found} if len(found) > 1 else {"error": found[0]}


def write_message(text: str) -> None:
    with _lost_if_unread():
        sys.stderr.write(f"{escape_lines(text)}\n")


def _lost_if_unread() -> AbstractContextManager[None]:
    """A message that nobody can read (`2>&1 | head`, a full disk) does not end what it tells of: its work and its exit code
    are what counts."""
    return suppress(OSError)


def write_json(value: object) -> None:
    sys.stdout.write(escaped_json(value, indent=2) + "\n")


def write_json_line(value: object) -> None:
    sys.stdout.write(escaped_json(value) + "\n")


def write_line(text: str) -> None:
    sys.stdout.write(escape_control_chars(text) + "\n")


def write_value(value: bytes | None, *, raw: bool) -> None:
    """A record's value: as it came, or with what is not printable escaped."""
    if raw:
        sys.stdout.buffer.write((value or b"") + b"\n")
    else:
        write_line((value or b"").decode("utf-8", errors="backslashreplace"))


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
