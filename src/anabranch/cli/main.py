"""The door: parses the command, runs it, and turns what goes wrong into a fact, a way out and an exit code."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from pathlib import Path

import typer
import typer.exceptions

import anabranch
from anabranch.cli import (
    broker,
    checkpoint,
    config,
    doctor,
    generate,
    lake,
    operations,
    records,
    rewind,
    run,
    status,
    topics,
)
from anabranch.cli.demo.story import demo
from anabranch.cli.output import Cli, write_line
from anabranch.errors import AnabranchError, Failed
from anabranch.text.escape import escape_lines

app = typer.Typer(
    help=anabranch.__doc__,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.command()(demo)
app.command()(doctor.doctor)
app.add_typer(broker.app, name="broker")
app.command()(generate.generate)
app.add_typer(topics.app, name="topics")
app.command()(records.produce)
app.command()(records.consume)
app.command()(status.pipelines)
app.command()(run.run)
app.command()(run.stop)
app.command()(status.status)
app.command()(checkpoint.checkpoint)
app.command()(rewind.rewind)
app.command()(operations.reprocess)
app.command()(operations.operations)
app.command()(rewind.undo)
app.command()(operations.resume)
app.command()(lake.problems)
app.add_typer(lake.app, name="lake")
app.command()(config.config)


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
    debug = "--debug" in arguments
    try:
        code = app(arguments, prog_name="anabranch", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except typer.exceptions.TyperException as error:
        error.show()  # type: ignore[attr-defined]
        return error.exit_code
    except AnabranchError as error:
        if debug:
            traceback.print_exc()
        return _tell(str(error), error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        return 130
    except BrokenPipeError:
        # Whoever read our output has enough of it (`| head`); Python must not complain at its exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if debug:
            traceback.print_exc()
        if isinstance(error, OSError) and error.errno in _ROOM_OR_RIGHT:
            return _tell(str(_of_the_system(error)), Failed.exit_code)
        fact = f"something unforeseen happened: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        return _tell(f"{fact}\n  -> the same command with --debug shows where", 1)


# What the system may refuse to anybody who writes, and what helps.
_NO_ROOM, _NO_RIGHT = "make room on that disk", "see that you may write there"
_ROOM_OR_RIGHT = {
    errno.ENOSPC: _NO_ROOM, errno.EDQUOT: _NO_ROOM,
    errno.EACCES: _NO_RIGHT, errno.EPERM: _NO_RIGHT, errno.EROFS: _NO_RIGHT,
}  # fmt: skip


def _of_the_system(error: OSError) -> Failed:
    where = f": {error.filename}" if error.filename else ""
    again = "then the same command again; what was begun and is not finished: anabranch operations"
    return Failed(f"{error.strerror}{where}.", _ROOM_OR_RIGHT[error.errno or 0], again)


def _tell(text: str, code: int) -> int:
    sys.stderr.write(f"{escape_lines(text)}\n")
    return code


def hoist_global_options(arguments: list[str]) -> list[str]:
    """The options of all commands may stand anywhere: those behind the command are moved in front of it."""
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
