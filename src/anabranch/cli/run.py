"""anabranch run and stop."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anabranch.cli.output import Cli, cli_of
from anabranch.errors import Misused
from anabranch.pipeline.definition import find_pipeline, sink_for, split_target
from anabranch.text.durations import parse_duration_s

Names = Annotated[list[str], typer.Argument(metavar="PIPELINE...", help="anabranch pipelines lists them.")]


def run(
    context: typer.Context,
    names: Names,
    until_caught_up: Annotated[bool, typer.Option("--until-caught-up", help="Process what is there, then end.")] = False,
    trigger: Annotated[str | None, typer.Option(metavar="20s", help="How often a batch starts.")] = None,
    max_offsets: Annotated[int | None, typer.Option(min=1, help="How many records a batch takes at most.")] = None,
    to: Annotated[
        str | None, typer.Option(metavar="console|topic [NAME]|table PATH", help="Send the results there instead.")
    ] = None,
    from_end: Annotated[
        bool,
        typer.Option("--from-end/--from-beginning", help="Where a first start begins. After that, the checkpoint knows."),
    ] = False,
    future_tolerance: Annotated[
        str | None, typer.Option(metavar="1h", help="How far an event may lie after its record's own timestamp.")
    ] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A Spark setting.")] = None,
) -> None:
    """Run pipelines in one Spark application, until Ctrl-C, which ends them after their batch.

    Example: anabranch run visits-log --trigger 5s
    """
    from anabranch.cli.live import RunFace
    from anabranch.streaming.run import Request, run_pipelines

    cli = cli_of(context)
    project = cli.project()
    names, target = split_target(names, to)
    pipelines = [
        (pipeline := project.pipeline(find_pipeline(name))).changed(
            trigger_s=parse_duration_s(trigger) if trigger else None,
            max_offsets=max_offsets,
            sink=project.placed(sink_for(pipeline, to, target)),
            future_tolerance_s=parse_duration_s(future_tolerance) if future_tolerance else None,
        )
        for name in dict.fromkeys(names)
    ]
    face = RunFace(cli)
    request = Request(pipelines, "latest" if from_end else "earliest", until_caught_up, _pairs(settings or []), cli.debug)
    try:
        run_pipelines(project, request, face)
    finally:
        face.end()


def stop(context: typer.Context, names: Names) -> None:
    """Ask running pipelines to end after their batch, and wait until they have.

    Example: anabranch stop visits-log
    """
    cli = cli_of(context)
    project = cli.project()
    # Each sink of a pipeline has a run of its own; all are asked before any is waited for.
    asked = [asked for name in names for asked in _ask(cli, find_pipeline(name).name, project.checkpoints(find_pipeline(name)))]
    for name, checkpoint in asked:
        _await_end(cli, name, checkpoint)


def _ask(cli: Cli, name: str, checkpoints: list[Path]) -> list[tuple[str, Path]]:
    from anabranch.checkpoint.lease import holder_of
    from anabranch.streaming.stop import ask_stop

    held = [checkpoint for checkpoint in checkpoints if holder_of(checkpoint) is not None]
    for checkpoint in held:
        ask_stop(checkpoint)
    if not held:
        cli.say(f"{name} does not run.")
    return [(name, checkpoint) for checkpoint in held]


def _await_end(cli: Cli, name: str, checkpoint: Path) -> None:
    from anabranch.checkpoint.lease import await_free

    with cli.busy(f"{name} ends after its batch"):
        await_free(checkpoint)
    cli.say(f"{name} has ended.")


def _pairs(settings: list[str]) -> dict[str, str]:
    pairs = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key:
            raise Misused(f"--set {setting!r} is not KEY=VALUE.", "--set spark.sql.shuffle.partitions=4")
        pairs[key] = value
    return pairs
