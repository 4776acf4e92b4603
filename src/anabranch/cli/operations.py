"""anabranch reprocess, operations and resume: plan, show, ask, apply."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anabranch.cli.screen import Cli, cli_of, write_json, write_table
from anabranch.core.errors import Misused, Refused
from anabranch.core.pipeline import find_pipeline

if TYPE_CHECKING:
    from anabranch.core.reprocess import ReprocessPlan
    from anabranch.setup.project import Project

AsJson = Annotated[bool, typer.Option("--json")]
Yes = Annotated[bool, typer.Option("--yes", help="Go on without asking.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the plan, change nothing.")]


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
    from anabranch.core.instants import parse_instant
    from anabranch.core.reprocess import Range, explain
    from anabranch.operate.reprocess import check_range, plan_reprocess, with_topic
    from anabranch.operate.spark import new_log_file, open_session

    cli = cli_of(context)
    _check_answer(yes, dry_run)
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
    _show(explain(plan), asdict(plan), as_json)
    if dry_run:
        return
    _confirm(yes, f"Send {len(plan.changes)} results to {plan.topic}?")
    _apply(cli, project, plan)


def operations(
    context: typer.Context,
    operation_id: Annotated[str | None, typer.Argument(metavar="[ID]")] = None,
    as_json: AsJson = False,
) -> None:
    """List the operations, or show one: its plan and its receipt.

    Example: anabranch operations
    """
    from anabranch.operate.journal import find_operation
    from anabranch.operate.journal import operations as all_operations

    project = cli_of(context).project()
    found = [find_operation(project, operation_id)] if operation_id else list(all_operations(project))
    if as_json or operation_id:
        write_json([asdict(operation) for operation in found] if operation_id is None else asdict(found[0]))
        return
    rows = [(operation.id, operation.kind, str(operation.plan.get("pipeline")), operation.state) for operation in found]
    write_table(("operation", "kind", "pipeline", "state"), rows)


def resume(
    context: typer.Context,
    operation_id: Annotated[str, typer.Argument(metavar="ID")],
    yes: Yes = False,
    dry_run: DryRun = False,
) -> None:
    """Finish an operation that was interrupted, by the plan that was written down before it began.

    Example: anabranch resume 20251115T230000-reprocess-1a2b --yes
    """
    from anabranch.core.reprocess import explain
    from anabranch.operate.journal import find_operation
    from anabranch.operate.reprocess import plan_from_record

    cli = cli_of(context)
    _check_answer(yes, dry_run)
    project = cli.project()
    operation = find_operation(project, operation_id)
    if operation.receipt is not None:
        raise Refused(f"{operation_id} has finished: there is nothing to resume.", f"anabranch operations {operation_id}")
    plan = plan_from_record(operation.plan)
    _show(explain(plan), asdict(plan), False)
    if dry_run:
        return
    _confirm(yes, f"Send {len(plan.changes)} results to {plan.topic}?")
    _apply(cli, project, plan)


def _apply(cli: Cli, project: Project, plan: ReprocessPlan) -> None:
    from anabranch.operate.reprocess import apply_reprocess

    with cli.counting("Sending results") as count:
        sent = apply_reprocess(project, plan, count)
    cli.say(f"{sent} of {len(plan.changes)} results acknowledged by {plan.topic}. anabranch operations {plan.operation}")


def _show(lines: Iterable[str], plan: dict[str, Any], as_json: bool) -> None:
    if as_json:
        write_json(plan)
    else:
        for line in lines:
            typer.echo(line)


def _check_answer(yes: bool, dry_run: bool) -> None:
    if yes and dry_run:
        raise Misused("--yes and --dry-run contradict each other.", "give one of them")
    if not (yes or dry_run or sys.stdin.isatty()):
        raise Misused("without a terminal nobody can be asked.", "--dry-run shows the plan", "--yes goes on")


def _confirm(yes: bool, question: str) -> None:
    if not yes and not typer.confirm(question, err=True):
        raise Refused("nothing was changed.")
