"""The entry point: parses the command, runs it, and turns errors into a message, a remedy and an exit code."""

from __future__ import annotations

import errno
import re
import sys
import traceback
from contextlib import suppress
from pathlib import Path

import typer
import typer.exceptions

import anabranch
from anabranch.cli import broker, lake, messages, problems, topics
from anabranch.cli.audit import audit, audits
from anabranch.cli.check import check
from anabranch.cli.checkpoint import checkpoint
from anabranch.cli.config import config
from anabranch.cli.consume import consume
from anabranch.cli.demo.story import demo
from anabranch.cli.doctor import doctor
from anabranch.cli.explain import explain
from anabranch.cli.generate import generate
from anabranch.cli.history import history
from anabranch.cli.init import init
from anabranch.cli.lateness import lateness
from anabranch.cli.operations import operations
from anabranch.cli.output import (
    Cli,
    drop_unwritten,
    is_reader_gone,
    open_standard_streams,
    write_error,
    write_line,
    write_message,
)
from anabranch.cli.pipelines import pipelines
from anabranch.cli.produce import produce
from anabranch.cli.repair import repair
from anabranch.cli.reprocess import reprocess
from anabranch.cli.resume import resume
from anabranch.cli.rewind import rewind
from anabranch.cli.run import run
from anabranch.cli.setup import setup
from anabranch.cli.status import status
from anabranch.cli.stop import stop
from anabranch.cli.undo import undo
from anabranch.errors import PERMISSION_DENIED, AnabranchError
from anabranch.project.packages import package_missing
from anabranch.text.suggest import did_you_mean

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
app.command()(init)
app.add_typer(broker.app, name="broker")
app.command()(generate)
app.add_typer(topics.app, name="topics")
app.command()(produce)
app.command()(consume)
app.command()(pipelines)
app.command()(check)
app.command()(run)
app.command()(stop)
app.command()(status)
app.command()(history)
app.command()(lateness)
app.command()(checkpoint)
app.command()(rewind)
app.command()(reprocess)
app.command()(audit)
app.command()(audits)
app.command()(explain)
app.command()(repair)
app.command()(operations)
app.command()(undo)
app.command()(resume)
app.add_typer(problems.app, name="problems")
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
    open_standard_streams()
    sys.exit(run_command(sys.argv[1:]))


def run_command(arguments: list[str]) -> int:
    try:
        code = app(hoist_global_options(arguments), prog_name="anabranch", standalone_mode=False)
        # Now, where an error can still be told.
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except (KeyboardInterrupt, typer.Abort):
        return 130
    except (Exception, SystemExit) as caught:
        # typer makes an exit of a broken pipe.
        error = caught.__context__ if isinstance(caught, SystemExit) else caught
        if not isinstance(error, Exception):
            raise
        if isinstance(error, BrokenPipeError) and is_reader_gone():
            # The reader of our output has what it wanted. Any other pipe that breaks is an error: a JVM's, for one.
            return 0
        if "--debug" in arguments:
            traceback.print_exc()
        if isinstance(error, typer.exceptions.TyperException) and "\n" in str(error):
            # Without a command: its message is the help.
            write_message(str(error))
            return error.exit_code
        known = _known(error)
        with suppress(OSError):
            write_error(known, as_json="--json" in arguments)
        return known.exit_code
    finally:
        drop_unwritten()


def _known(error: Exception) -> AnabranchError:
    """What is told of any error."""
    match error:
        case AnabranchError():
            return error
        case typer.exceptions.TyperException():
            return _malformed(error)
        case ModuleNotFoundError() if missing := package_missing(error.name or ""):
            return missing
        case PermissionError():
            return PERMISSION_DENIED(path=error.filename or "a file")
        case OSError(errno=errno.EBADF):
            return messages.OUTPUT_CLOSED()
        case OSError() if error.strerror:
            where = f": {error.filename}" if error.filename else ""
            remedy = _REMEDIES.get(error.errno or 0, "the same command with --debug shows where")
            return messages.SYSTEM_REFUSED(reason=error.strerror, where=where, remedy=remedy)
    return messages.UNEXPECTED(kind=type(error).__name__, text=next(iter(_words(error).splitlines()), ""))


def _words(error: Exception) -> str:
    """One of Spark's has none once its JVM is gone."""
    try:
        return str(error)
    except Exception:
        return ""


def _malformed(error: typer.exceptions.TyperException) -> AnabranchError:
    """A command line that typer could not parse."""
    context: typer.Context | None = getattr(error, "ctx", None)
    reason = error.format_message().rstrip(".")
    if context is None:
        return messages.COMMAND_MALFORMED(reason=reason, suggestion="", usage="anabranch COMMAND", command="anabranch")
    suggestion = ""
    if wrong := re.match(r"No such command '(.*?)'", reason):
        reason, suggestion = wrong[0], did_you_mean(wrong[1], getattr(context.command, "commands", {}))
    usage = " ".join(context.get_usage().split()).removeprefix("Usage: ")
    return messages.COMMAND_MALFORMED(reason=reason, suggestion=suggestion, usage=usage, command=context.command_path)


# What the system may refuse to any writer, and what helps.
_NO_SPACE = "free space on that disk"
_REMEDIES = {
    errno.ENOSPC: _NO_SPACE,
    errno.EDQUOT: _NO_SPACE,
    errno.EROFS: "mount that file system so that it can be written to",
}


def hoist_global_options(arguments: list[str]) -> list[str]:
    """Global options may be given anywhere: those behind the command are moved in front of it."""
    directories: list[str] = []
    front: list[str] = []
    rest: list[str] = []
    waiting = iter(arguments)
    for argument in waiting:
        if argument == "--":
            rest.extend([argument, *waiting])
        elif argument in ("--debug", "--quiet", "-q"):
            front.append(argument)
        elif argument == "-C":
            directories.extend(value for value in [next(waiting, None)] if value is not None)
            front.extend([argument, *directories[-1:]])
        else:
            rest.append(argument)
    if len(directories) > 1:
        raise messages.DIRECTORY_TWICE(directories=directories)
    if directories == [""]:
        # Python would take it for the current one.
        raise messages.DIRECTORY_EMPTY()
    return front + rest
