"""anabranch stop: end a run in another terminal."""

from __future__ import annotations

import typer

from anabranch.cli.output import cli_of
from anabranch.cli.run import Names


def stop(context: typer.Context, names: Names) -> None:
    """Ask running pipelines to end after their batch, and wait until they have.

    Example: anabranch stop visits-log
    """
    from anabranch.streaming.stop import ask_to_stop, await_stopped

    cli = cli_of(context)
    project = cli.project()
    # Each sink of a pipeline has a run of its own; all are asked before any is waited for.
    asked = [(pipeline, ask_to_stop(project.checkpoints(pipeline))) for pipeline in project.find(names)]
    for pipeline, locations in asked:
        for location in locations:
            with cli.busy(f"{pipeline.name} ends after its batch"):
                await_stopped(location)
            cli.say(f"{pipeline.name} has ended.")
        if not locations:
            cli.say(f"{pipeline.name} is not running.")
