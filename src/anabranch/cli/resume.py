"""anabranch resume: finish what was interrupted."""

from __future__ import annotations

from typing import Annotated

import typer

from anabranch.cli.output import DryRun, Yes, check_answer, cli_of, confirm, write_lines


def resume(
    context: typer.Context,
    operation_id: Annotated[str, typer.Argument(metavar="ID")],
    yes: Yes = False,
    dry_run: DryRun = False,
) -> None:
    """Finish an operation that was interrupted, by the plan that was written before it began.

    Example: anabranch resume 20251115T230000-reprocess-1a2b --yes
    """
    from anabranch.recovery.explain import explain_plan
    from anabranch.recovery.resume import find_resumable
    from anabranch.recovery.resume import resume as finish

    cli = cli_of(context)
    check_answer(yes, dry_run)
    project = cli.project()
    operation = find_resumable(project, operation_id)
    write_lines(explain_plan(operation))
    if dry_run:
        return
    confirm(yes, f"Finish {operation.id}?")
    with cli.counting("Resuming") as count:
        done = list(finish(project, operation, count))
    cli.say_all(done)
