"""anabranch rewind: inspect, plan, show, ask, apply. No Spark, no JVM."""

from __future__ import annotations

from typing import Annotated

import typer

from anabranch.cli.checkpoint import Names, To
from anabranch.cli.output import DryRun, PlanAsJson, Yes, check_answer, cli_of, confirm, show


def rewind(
    context: typer.Context,
    names: Names,
    to_batch: Annotated[int | None, typer.Option(metavar="N", help="Batch N runs again.")] = None,
    to_time: Annotated[str | None, typer.Option(metavar="TIME", help="The first batch planned then or later.")] = None,
    to_event_time: Annotated[
        str | None, typer.Option(metavar="TIME", help="The first batch that may hold events of then or later.")
    ] = None,
    to_offset: Annotated[
        str | None, typer.Option(metavar="TOPIC:PARTITION:OFFSET", help="The batch that read this record.")
    ] = None,
    replan: Annotated[bool, typer.Option("--replan", help="Spark chooses a new range for batch N.")] = False,
    to: To = None,
    delay: Annotated[
        str | None, typer.Option(metavar="DURATION", help="The watermark's delay, which a checkpoint does not hold.")
    ] = None,
    stopped: Annotated[bool, typer.Option("--stopped", help="The query of a checkpoint that is not ours is stopped.")] = False,
    checkpoint_only: Annotated[bool, typer.Option("--checkpoint-only", help="Leave the sink as it is.")] = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: PlanAsJson = False,
) -> None:
    """Take a checkpoint, and what its sink holds, back so that batch N runs again.

    Example: anabranch rewind visits-lake --to-batch 41
    """
    from anabranch.checkpoint.reader import open_checkpoint
    from anabranch.project.project import resolve_checkpoint
    from anabranch.rewind.apply import apply, plan_as_json
    from anabranch.rewind.explain import explain_done, explain_rewind
    from anabranch.rewind.inspect import RewindRequest, plan
    from anabranch.rewind.target import TargetOptions, parse_target

    cli = cli_of(context)
    check_answer(yes, dry_run)
    project = cli.project_as_read()
    ref = resolve_checkpoint(project, cli.directory, names, to)
    options = TargetOptions(to_batch, to_time, to_event_time, to_offset, delay)
    target = parse_target(options, project.settings.timezone, ref.pipeline)
    with cli.busy(f"Reading the checkpoint of {ref.name}"):
        found = open_checkpoint(ref.location)
        request = RewindRequest(target, "replan" if replan else "replay", stopped, checkpoint_only)
        planned = plan(project, ref, found, request)
    if planned is None:
        cli.say(f"There is nothing to do: batch {found.next_batch} is what runs next.")
        return
    show(explain_rewind(planned), plan_as_json(planned), as_json)
    if dry_run:
        return
    confirm(yes, f"Rewind {ref.name} to batch {planned.batch}?")
    with cli.counting("Moving files") as count:
        checks = apply(project.operations, planned, count)
    cli.say_all(explain_done(planned, checks))
