"""anabranch init: a new project that runs at once."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from anabranch.cli.output import cli_of


def init(
    context: typer.Context,
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Created if it does not exist.")],
) -> None:
    """Write a project with a pipeline of its own, a test of it, and a README. Nothing is overwritten.

    Example: anabranch init shop
    """
    from anabranch.project.new import create_project, first_commands
    from anabranch.project.project import open_project, with_code

    cli = cli_of(context)
    target = cli.directory / directory
    names = create_project(target)
    with cli.busy("Reading pipelines.py"):
        with_code(open_project(target, cli.tell))
    cli.say(f"Created {target}: {', '.join(names)}. Next:")
    cli.say_all(f"  {command}" for command in (f"cd {quote(str(target))}", *first_commands()))
