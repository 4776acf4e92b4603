"""anabranch undo: restore what a rewind took back, or roll back one that did not finish. No Spark, no JVM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.output import Cli, DryRun, PlanAsJson, Yes, check_answer, cli_of, confirm, show, write_json

if TYPE_CHECKING:
    from anabranch.operations.log import Operation
    from anabranch.project.project import Project


def undo(
    context: typer.Context,
    operation_id: Annotated[str, typer.Argument(metavar="ID")],
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: PlanAsJson = False,
) -> None:
    """Restore what a rewind took back, as long as the query has not run since; or roll back one that did not finish.

    Example: anabranch undo 20251115T230000-rewind-1a2b
    """
    from anabranch.rewind.apply import apply, is_under_way, plan_as_json, undo_plan
    from anabranch.rewind.explain import explain_done, explain_undo

    cli = cli_of(context)
    check_answer(yes, dry_run)
    project = cli.project_as_read()
    operation = project.operations.find(operation_id)
    if operation.kind != "reprocess" and is_under_way(operation):
        if as_json:
            write_json(operation.as_json())
        _roll_back(cli, project, operation, yes, dry_run)
        return
    plan = undo_plan(project.operations, operation)
    show(explain_undo(plan), plan_as_json(plan), as_json)
    if dry_run:
        return
    confirm(yes, f"Undo {operation.id}?")
    with cli.counting("Moving files") as count:
        checks = apply(project.operations, plan, count)
    cli.say_all(explain_done(plan, checks))


def _roll_back(cli: Cli, project: Project, operation: Operation, yes: bool, dry_run: bool) -> None:
    from anabranch.rewind.apply import roll_back

    cli.say(f"{operation.id} is not finished: undo rolls back what it has done.")
    if dry_run:
        return
    confirm(yes, f"Roll {operation.id} back?")
    with cli.counting("Moving files back") as count:
        roll_back(project.operations, operation, count)
    cli.say("Rolled back: the checkpoint is as it was.")
