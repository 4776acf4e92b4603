"""Carries out rewinds and undos, also interrupted ones: the lease, the journal, the shift, a fresh look, the receipt."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from anabranch.checkpoint.batch_history import append_rewind, append_undo
from anabranch.checkpoint.checkpoint import Checkpoint
from anabranch.checkpoint.lease import alone_on, take_lease
from anabranch.checkpoint.reader import read_checkpoint
from anabranch.errors import Failed, Refused
from anabranch.operations.change import DeleteRows, LeaveSink, NoTables, Tables
from anabranch.operations.log import Operation, new_operation_id, operations, record_plan, record_receipt
from anabranch.operations.records import as_record
from anabranch.project.project import Project
from anabranch.rewind.change import Progress, Shifting
from anabranch.rewind.plan import RewindPlan, plan_from_json, verify, verify_rewind
from anabranch.rewind.undo import UndoPlan, plan_undo, undo_from_json
from anabranch.storage.local import DirectoryStorage

Plan = RewindPlan | UndoPlan
# What must hold afterwards, and whether it does.
Checks = list[tuple[str, bool]]


def plan_of(operation: Operation) -> Plan:
    return plan_from_json(operation.plan) if operation.kind == "rewind" else undo_from_json(operation.plan)


def carry_out(project: Project, plan: Plan, progress: Progress) -> Checks:
    """From the beginning, or from where it was interrupted. What was verified afterwards."""
    kind, path = ("rewind" if isinstance(plan, RewindPlan) else "undo"), Path(plan.checkpoint)
    with _lease(plan, kind):
        record_plan(project, plan.change.operation, kind, as_record(plan))
        shifting = _shifting(plan, progress)
        # Interrupted behind the commit point the query may have run since: then there is nothing left to compare.
        is_new = not shifting.is_committed()
        try:
            shifting.apply()
        except Refused:
            # Nothing was changed: it is over, and need not be resumed.
            record_receipt(project, plan.change.operation, {"outcome": "refused"})
            raise
        if plan.pipeline is not None:
            _write_history(plan, path)
        checks = _verify(plan) if is_new else []
        record_receipt(project, plan.change.operation, {"outcome": "done", "files": len(plan.change.paths), "verified": checks})
        if isinstance(plan, UndoPlan):
            record_receipt(project, plan.of, {"outcome": "undone", "by": plan.change.operation})
    if failed := [what for what, holds in checks if not holds]:
        raise Failed(
            f"{plan.change.operation} was carried out, and afterwards this does not hold: {'; '.join(failed)}.",
            f"anabranch checkpoint {plan.pipeline or plan.checkpoint}",
        )
    return checks


def _verify(plan: Plan) -> Checks:
    checkpoint = _look(plan)
    return verify_rewind(plan, checkpoint) if isinstance(plan, RewindPlan) else verify(plan.change, checkpoint)


def give_up(project: Project, operation: Operation, progress: Progress) -> None:
    """Takes an operation that did not finish back to where it began."""
    plan = plan_of(operation)
    with _lease(plan, "undo"):
        _shifting(plan, progress).roll_back()
        record_receipt(project, operation.id, {"outcome": "taken back"})


def is_under_way(operation: Operation) -> bool:
    """Whether it can still be given up: it has no receipt, and the fence did not come down over the new tree."""
    return operation.receipt is None and not _shifting(plan_of(operation), lambda _done, _total: None).is_committed()


def undo_plan(project: Project, operation: Operation) -> UndoPlan:
    if operation.kind != "rewind":
        raise Refused(
            f"{operation.id} is no rewind: there is nothing to put back.",
            "a reprocess is corrected by another one" if operation.kind == "reprocess" else "rewind again instead",
        )
    if operation.state == "undone":
        raise Refused(f"{operation.id} is undone already.", f"anabranch operations {operation.id}")
    if operation.state == "taken back":
        raise Refused(f"{operation.id} was taken back before it finished: there is nothing to undo.")
    if operation.state == "refused":
        raise Refused(f"{operation.id} was refused: it changed nothing.")
    rewind = plan_from_json(operation.plan)
    if (later := next((one for one in operations(project) if _follows(one, operation)), None)) is not None:
        raise Refused(f"{later.id} came after it on the same checkpoint.", f"anabranch undo {later.id}   first")
    plan = plan_undo(rewind, _look(rewind), new_operation_id("undo"))
    _check_set_aside(plan)
    _check_table(rewind)
    return plan


def _follows(one: Operation, operation: Operation) -> bool:
    """A rewind that began with the tree that this one left."""
    if one.kind != "rewind" or one.state != "done" or one.plan["checkpoint"] != operation.plan["checkpoint"]:
        return False
    return bool(one.plan["change"]["before"] == operation.plan["change"]["after"])


def _check_set_aside(plan: UndoPlan) -> None:
    """Whoever needs the space may have removed it."""
    storage = DirectoryStorage(Path(plan.checkpoint))
    gone = [source for source, _ in plan.change.moves if not storage.holds(source)]
    if gone:
        raise Refused(
            f"{plan.of} cannot be undone: of the files that it set aside {len(gone):,} are gone, {gone[0]} for one.",
            "put them back there; or leave it: the checkpoint is whole as the rewind left it",
        )


def _check_table(rewind: RewindPlan) -> None:
    """A batch may have reached the table and not its commit: the checkpoint does not show it."""
    if isinstance(rewind.change.sink, DeleteRows):
        from anabranch.delta.rows import check_rows_are_kept, newest_batch

        rows = rewind.change.sink.rows
        newest = newest_batch(rows.table, rows.query_id)
        if newest != rows.set_back_to:
            raise Refused(
                f"{rewind.change.operation} cannot be undone, the query has run since: batch {newest} has reached {rows.table}."
            )
        check_rows_are_kept(rows)


def _shifting(plan: Plan, progress: Progress) -> Shifting:
    storage = DirectoryStorage(Path(plan.checkpoint))
    return Shifting(plan.change, json.dumps(as_record(plan)), storage, _tables(plan), progress)


def _tables(plan: Plan) -> Tables:
    """Delta's library takes half a second to load: only where a table is to be changed."""
    if isinstance(plan.change.sink, LeaveSink):
        return NoTables()
    from anabranch.delta.rows import DeltaTables

    return DeltaTables()


def _look(plan: Plan) -> Checkpoint:
    return read_checkpoint(DirectoryStorage(Path(plan.checkpoint)))


def _write_history(plan: Plan, checkpoint: Path) -> None:
    if isinstance(plan, RewindPlan):
        append_rewind(checkpoint, plan.change.operation, plan.batch)
    else:
        append_undo(checkpoint, plan.of)


@contextmanager
def _lease(plan: Plan, purpose: str) -> Iterator[None]:
    """Only our own pipelines know leases; of others the user has said that they are stopped."""
    if plan.pipeline is None:
        with alone_on(Path(plan.checkpoint)):
            yield
        return
    lease = take_lease(Path(plan.checkpoint), plan.pipeline, purpose)
    try:
        yield
    finally:
        lease.release()
