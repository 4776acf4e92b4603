"""anabranch reprocess, operations and resume: plan, show, ask, apply."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.confirm import AsJson, DryRun, Yes, check_answer, confirm, show
from anabranch.cli.output import Cli, cli_of, write_json, write_table
from anabranch.cli.rewind import resume_shift
from anabranch.errors import Refused
from anabranch.pipeline.definition import find_pipeline

if TYPE_CHECKING:
    from anabranch.operations.log import Operation
    from anabranch.project.project import Project
    from anabranch.reprocess.plan import ReprocessPlan


def reprocess(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="PIPELINE")],
    start: Annotated[str, typer.Option("--from", metavar="TIME", help="Included; in the project's zone unless it has one.")],
    end: Annotated[str, typer.Option("--to", metavar="TIME", help="Not included.")],
    topic: Annotated[str | None, typer.Option(help="The topic to correct, if not the pipeline's own.")] = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Recompute windows from the lake and emit their results again, while the stream goes on.

    Example: anabranch reprocess visits-counter --from 2025-09-04T07:00 --to 2025-09-04T07:10
    """
    from anabranch.project.session import new_log_file, open_session
    from anabranch.reprocess.apply import check_range, plan_reprocess, with_topic
    from anabranch.reprocess.plan import Range, explain
    from anabranch.text.instants import parse_instant

    cli = cli_of(context)
    check_answer(yes, dry_run)
    project = cli.project()
    pipeline = with_topic(project.pipeline(find_pipeline(name)), topic)
    zone = project.settings.timezone
    asked = Range(*(round(parse_instant(text, zone).timestamp() * 1000) for text in (start, end)))
    wanted = check_range(project, pipeline, asked)
    session = open_session(project, cli, new_log_file(project, "reprocess"), debug=cli.debug)
    with cli.counting("Recomputing windows from the lake") as count:

        def recomputed(windows: int, of_windows: int, rows: int, of_rows: int) -> None:
            count(windows, of_windows, f", {rows:,} of {of_rows:,} rows")

        plan = plan_reprocess(project, pipeline, asked, wanted, session, recomputed)
    show(explain(plan), asdict(plan), as_json)
    if dry_run:
        return
    confirm(yes, f"Send {len(plan.changes)} results to {plan.topic}?")
    _apply(cli, project, plan)


def operations(
    context: typer.Context,
    operation_id: Annotated[str | None, typer.Argument(metavar="[ID]")] = None,
    as_json: AsJson = False,
) -> None:
    """List the operations, or show one: its plan and its receipt.

    Example: anabranch operations
    """
    from anabranch.operations.log import find_operation
    from anabranch.operations.log import operations as all_operations

    cli = cli_of(context)
    project = cli.project()
    if operation_id is not None:
        operation = find_operation(project, operation_id)
        show([*_plan_words(operation), *_receipt_words(operation)], asdict(operation), as_json)
        return
    found = list(all_operations(project))
    if as_json:
        write_json([asdict(operation) for operation in found])
    elif not found:
        cli.say("There are none yet: rewind, undo and reprocess are operations.")
    else:
        rows = [(one.id, one.kind, str(one.plan.get("pipeline") or one.plan.get("checkpoint")), one.state) for one in found]
        write_table(("operation", "kind", "pipeline", "state"), rows)


def _plan_words(operation: Operation) -> Iterable[str]:
    from anabranch.reprocess.apply import plan_from_record
    from anabranch.reprocess.plan import explain
    from anabranch.rewind.apply import plan_of
    from anabranch.rewind.explain import explain_shift

    if operation.kind == "reprocess":
        return explain(plan_from_record(operation.plan))
    return explain_shift(plan_of(operation))


def _receipt_words(operation: Operation) -> Iterator[str]:
    receipt = operation.receipt
    if receipt is None:
        or_back = "" if operation.kind == "reprocess" else f", anabranch undo {operation.id} takes it back"
        yield f"Not finished: anabranch resume {operation.id} finishes it{or_back}."
        return
    by = f" by {receipt['by']}" if "by" in receipt else ""
    yield f"{operation.state.capitalize()}{by}, {receipt['at']}"
    if "acknowledged" in receipt:
        yield f"  {receipt['acknowledged']} of {receipt['planned']} results acknowledged"
    for what, holds in receipt.get("verified", ()):
        yield f"  {'verified' if holds else 'DOES NOT HOLD'}: {what}"


def resume(
    context: typer.Context,
    operation_id: Annotated[str, typer.Argument(metavar="ID")],
    yes: Yes = False,
    dry_run: DryRun = False,
) -> None:
    """Finish an operation that was interrupted, by the plan that was written down before it began.

    Example: anabranch resume 20251115T230000-reprocess-1a2b --yes
    """
    from anabranch.operations.log import find_operation

    cli = cli_of(context)
    check_answer(yes, dry_run)
    project = cli.project()
    operation = find_operation(project, operation_id)
    if operation.receipt is not None:
        raise Refused(f"{operation_id} has finished: there is nothing to resume.", f"anabranch operations {operation_id}")
    show(_plan_words(operation), operation.plan, False)
    if dry_run:
        return
    if operation.kind == "reprocess":
        _resume_reprocess(cli, project, operation, yes)
    else:
        resume_shift(cli, project, operation, yes)


def _resume_reprocess(cli: Cli, project: Project, operation: Operation, yes: bool) -> None:
    from anabranch.reprocess.apply import plan_from_record

    plan = plan_from_record(operation.plan)
    confirm(yes, f"Send {len(plan.changes)} results to {plan.topic}?")
    _apply(cli, project, plan)


def _apply(cli: Cli, project: Project, plan: ReprocessPlan) -> None:
    from anabranch.reprocess.apply import apply_reprocess

    with cli.counting("Sending results") as count:
        sent = apply_reprocess(project, plan, count)
    cli.say(f"{sent} of {len(plan.changes)} results acknowledged by {plan.topic}. anabranch operations {plan.operation}")
