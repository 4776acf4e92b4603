"""anabranch rewind and undo: inspect, plan, show, ask, carry out, say what was verified. No Spark, no JVM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.checkpoint import To, open_checkpoint
from anabranch.cli.confirm import AsJson, DryRun, Yes, check_answer, confirm, show
from anabranch.cli.output import Cli, cli_of
from anabranch.errors import Misused

if TYPE_CHECKING:
    from anabranch.operations.log import Operation
    from anabranch.project.checkpoints import CheckpointRef
    from anabranch.project.project import Project
    from anabranch.rewind.apply import Plan
    from anabranch.rewind.target import Target


def rewind(
    context: typer.Context,
    names: Annotated[list[str], typer.Argument(metavar="PIPELINE|PATH", help="A pipeline, or any checkpoint's directory.")],
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
        str | None, typer.Option(metavar="DURATION", help="The delay of the watermark, which a checkpoint does not tell.")
    ] = None,
    stopped: Annotated[bool, typer.Option("--stopped", help="The query of a checkpoint that is not ours is stopped.")] = False,
    checkpoint_only: Annotated[bool, typer.Option("--checkpoint-only", help="Leave the sink as it is.")] = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Take a checkpoint, and what its sink holds, back so that batch N runs again.

    Example: anabranch rewind visits-lake --to-batch 41
    """
    from anabranch.operations.records import as_record
    from anabranch.project.checkpoints import resolve_checkpoint
    from anabranch.rewind.explain import explain
    from anabranch.rewind.inspect import RewindRequest, plan

    cli = cli_of(context)
    check_answer(yes, dry_run)
    project = cli.project()
    ref = resolve_checkpoint(project, cli.directory, names, to)
    target = _target(project, ref, to_batch, to_time, to_event_time, to_offset, delay)
    with cli.busy(f"Looking into the checkpoint of {ref.name}"):
        checkpoint = open_checkpoint(ref.path)
        made = plan(project, ref, checkpoint, RewindRequest(target, "replan" if replan else "replay", stopped, checkpoint_only))
    if made is None:
        cli.say(f"There is nothing to do: batch {checkpoint.next_batch} is what runs next.")
        return
    show(explain(made), as_record(made), as_json)
    if dry_run:
        return
    confirm(yes, f"Rewind {ref.name} to batch {made.batch}?")
    _carry_out(cli, project, made)
    name = made.pipeline
    cli.say(
        f"anabranch run {name}   runs batch {made.batch} again" if name else f"batch {made.batch} runs again at the next start"
    )
    cli.say(f"anabranch undo {made.change.operation}   puts everything back, until then")


def undo(
    context: typer.Context,
    operation_id: Annotated[str, typer.Argument(metavar="ID")],
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Put back what a rewind took, as long as the query has not run since; or give up one that did not finish.

    Example: anabranch undo 20251115T230000-rewind-1a2b
    """
    from anabranch.operations.log import find_operation
    from anabranch.operations.records import as_record
    from anabranch.rewind.apply import give_up, is_under_way, undo_plan
    from anabranch.rewind.explain import explain_undo

    cli = cli_of(context)
    check_answer(yes, dry_run)
    project = cli.project()
    operation = find_operation(project, operation_id)
    if operation.kind != "reprocess" and is_under_way(operation):
        cli.say(f"{operation.id} did not finish: what it has done is taken back.")
        if not dry_run:
            confirm(yes, f"Take {operation.id} back?")
            with cli.counting("Moving files back") as count:
                give_up(project, operation, count)
            cli.say("Taken back: the checkpoint is as it was.")
        return
    made = undo_plan(project, operation)
    show(explain_undo(made), as_record(made), as_json)
    if dry_run:
        return
    confirm(yes, f"Undo {operation.id}?")
    _carry_out(cli, project, made)


def resume_shift(cli: Cli, project: Project, operation: Operation, yes: bool) -> None:
    from anabranch.rewind.apply import plan_of

    confirm(yes, f"Finish {operation.id}?")
    _carry_out(cli, project, plan_of(operation))


def _carry_out(cli: Cli, project: Project, made: Plan) -> None:
    from anabranch.rewind.apply import carry_out

    with cli.counting("Moving files") as count:
        checks = carry_out(project, made, count)
    cli.say(f"Done: {made.change.operation}. Verified, from a fresh look:" if checks else f"Done: {made.change.operation}.")
    for what, _ in checks:
        cli.say(f"  {what}")


def _target(
    project: Project,
    ref: CheckpointRef,
    to_batch: int | None,
    to_time: str | None,
    to_event_time: str | None,
    to_offset: str | None,
    delay: str | None,
) -> Target:
    from anabranch.rewind.target import ToBatch, ToEventTime, ToTime, parse_offset_target
    from anabranch.text.durations import parse_duration_s
    from anabranch.text.instants import parse_instant

    def epoch_ms(text: str) -> int:
        return round(parse_instant(text, project.settings.timezone).timestamp() * 1000)

    given = [value for value in (to_batch, to_time, to_event_time, to_offset) if value is not None]
    if len(given) != 1:
        raise Misused(
            "where to is not said." if not given else "where to is said more than once.",
            "one of --to-batch N, --to-time TIME, --to-event-time TIME, --to-offset TOPIC:PARTITION:OFFSET",
        )
    if to_batch is not None:
        return ToBatch(to_batch)
    if to_time is not None:
        return ToTime(epoch_ms(to_time))
    if to_offset is not None:
        return parse_offset_target(to_offset)
    assert to_event_time is not None
    if delay is not None:
        delay_s: float | None = parse_duration_s(delay)
    elif ref.pipeline is not None:
        delay_s = ref.pipeline.watermark_s
    else:
        raise Misused(
            "the delay of the watermark is not in a checkpoint, and without it no batch can be told by event time.",
            "--delay 10m   as in the query's withWatermark",
        )
    return ToEventTime(epoch_ms(to_event_time), None if delay_s is None else round(delay_s * 1000))
