"""The entry point: parses the command, runs it, and turns errors into a message, a remedy and an exit code."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from pathlib import Path

import typer
import typer.exceptions

import anabranch
from anabranch.cli import broker, lake, messages, topics
from anabranch.cli.checkpoint import checkpoint
from anabranch.cli.config import config
from anabranch.cli.consume import consume
from anabranch.cli.demo.story import demo
from anabranch.cli.doctor import doctor
from anabranch.cli.generate import generate
from anabranch.cli.operations import operations
from anabranch.cli.output import Cli, write_error, write_line
from anabranch.cli.pipelines import pipelines
from anabranch.cli.problems import problems
from anabranch.cli.produce import produce
from anabranch.cli.reprocess import reprocess
from anabranch.cli.resume import resume
from anabranch.cli.rewind import rewind
from anabranch.cli.run import run
from anabranch.cli.setup import setup
from anabranch.cli.status import status
from anabranch.cli.stop import stop
from anabranch.cli.undo import undo
from anabranch.errors import PERMISSION_DENIED, AnabranchError

app = typer.Typer(
    help=anabranch.__doc__,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

# In the order in which they are listed.
app.command()(demo)
app.command()(doctor)
app.command()(setup)
app.add_typer(broker.app, name="broker")
app.command()(generate)
app.add_typer(topics.app, name="topics")
app.command()(produce)
app.command()(consume)
app.command()(pipelines)
app.command()(run)
app.command()(stop)
app.command()(status)
app.command()(checkpoint)
app.command()(rewind)
app.command()(reprocess)
app.command()(operations)
app.command()(undo)
app.command()(resume)
app.command()(problems)
app.add_typer(lake.app, name="lake")
app.command()(config)


def _version(asked: bool) -> None:
    if asked:
        write_line(f"anabranch {anabranch.__version__}")
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    directory: Path = typer.Option(Path(), "-C", metavar="DIR", help="Work in the project in DIR."),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Say only what was asked for, and errors."),
    debug: bool = typer.Option(False, "--debug", help="Show Python and Java stack traces; Spark logs more."),
    _version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    context.obj = Cli(directory, quiet, debug)


def main() -> None:
    arguments = hoist_global_options(sys.argv[1:])
    sys.exit(run_command(arguments))


def run_command(arguments: list[str]) -> int:
    try:
        code = app(arguments, prog_name="anabranch", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except typer.exceptions.TyperException as error:
        error.show()  # type: ignore[attr-defined]
        return error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        return 130
    except BrokenPipeError:
        # The reader of our output has closed it (`| head`); Python must not complain at its exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if "--debug" in arguments:
            traceback.print_exc()
        known = error if isinstance(error, AnabranchError) else _unexpected(error)
        write_error(known, as_json="--json" in arguments)
        return known.exit_code


# What the system may refuse to any writer, and what helps.
_NO_SPACE = "free space on that disk"
_REMEDIES = {
    errno.ENOSPC: _NO_SPACE,
    errno.EDQUOT: _NO_SPACE,
    errno.EROFS: "mount that file system so that it can be written to",
}


def _unexpected(error: Exception) -> AnabranchError:
    if isinstance(error, PermissionError):
        return PERMISSION_DENIED(path=error.filename or "a file")
    if isinstance(error, OSError) and error.errno in _REMEDIES:
        where = f": {error.filename}" if error.filename else ""
        return messages.SYSTEM_REFUSED(reason=error.strerror, where=where, remedy=_REMEDIES[error.errno])
    text = str(error).splitlines()[0] if str(error) else ""
    return messages.UNEXPECTED(kind=type(error).__name__, text=text)


def hoist_global_options(arguments: list[str]) -> list[str]:
    """Global options may be given anywhere: those behind the command are moved in front of it."""
    front: list[str] = []
    rest: list[str] = []
    waiting = iter(arguments)
    for argument in waiting:
        if argument == "--":
            rest.extend([argument, *waiting])
        elif argument in ("--debug", "--quiet", "-q"):
            front.append(argument)
        elif argument == "-C":
            front.extend([argument, *(value for value in [next(waiting, None)] if value is not None)])
        else:
            rest.append(argument)
    return front + rest
