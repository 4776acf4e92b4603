"""anabranch operations: the log of rewinds, undos and reprocesses."""

from __future__ import annotations

from typing import Annotated

import typer

from anabranch.cli.output import AsJson, cli_of, show, write_json, write_table


def operations(
    context: typer.Context,
    operation_id: Annotated[str | None, typer.Argument(metavar="[ID]")] = None,
    as_json: AsJson = False,
) -> None:
    """List the operations, or show one: its plan and its receipt.

    Example: anabranch operations
    """
    from anabranch.recovery.explain import explain_plan, explain_receipt, list_operations

    cli = cli_of(context)
    log = cli.project().operations
    if operation_id is not None:
        operation = log.find(operation_id)
        lines = [] if as_json else [*explain_plan(operation), *explain_receipt(operation)]
        show(lines, operation.as_json(), as_json)
        return
    found = list_operations(log)
    if as_json:
        write_json([operation.as_json() for operation in found])
    elif not found:
        cli.say("There are none yet: rewind, undo and reprocess are operations.")
    else:
        write_table(("operation", "kind", "pipeline", "state"), [(one.id, one.kind, one.subject, one.state) for one in found])
        for one in found:
            if one.problem is not None:
                cli.say_all([f"{one.id}: {one.problem.text}", *(f"  -> {remedy}" for remedy in one.problem.remedies)])
