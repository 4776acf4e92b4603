"""Applies rewinds and undos, also interrupted ones: lease, log, change, a new read of the checkpoint, receipt."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from anabranch.checkpoint.history import append_rewind, append_undo, take_back
from anabranch.checkpoint.reader import read_checkpoint, read_logs
from anabranch.checkpoint.reconcile import reconcile
from anabranch.errors import Refused
from anabranch.operations.change import SinkChange
from anabranch.operations.fence import Application, silent
from anabranch.operations.log import Operation, OperationLog, new_operation_id
from anabranch.operations.receipt import Check
from anabranch.rewind import messages
from anabranch.rewind.plan import RewindPlan, verify, verify_rewind
from anabranch.rewind.undo import UndoPlan, plan_undo
from anabranch.storage.base import OnProgress
from anabranch.storage.files import CheckpointLocation, Format
from anabranch.storage.lease import alone_on, take_lease
from anabranch.streaming.sinks import policy_for

Plan = RewindPlan | UndoPlan
REWIND = Format("rewind", 1, RewindPlan)
UNDO = Format("undo", 1, UndoPlan)


def plan_of(operation: Operation) -> Plan:
    return operation.decode(UNDO) if operation.kind == "undo" else operation.decode(REWIND)


def plan_as_json(plan: Plan) -> dict[str, object]:
    return REWIND.as_json(plan) if isinstance(plan, RewindPlan) else UNDO.as_json(plan)


def apply(log: OperationLog, plan: Plan, progress: OnProgress) -> tuple[Check, ...]:
    """From the beginning, or from where it was interrupted. What was verified afterwards."""
    operation = plan.change.operation
    with _lease(plan):
        if isinstance(plan, RewindPlan):
            log.record_plan(operation, REWIND, plan)
        else:
            log.record_plan(operation, UNDO, plan)
        application = _application(plan, progress)
        # Interrupted behind the commit point the query may have run since: then there is nothing left to compare.
        is_new = not application.is_committed()
        if plan.pipeline is not None:
            _complete_history(CheckpointLocation(Path(plan.checkpoint)))
        try:
            application.apply()
        except Refused:
            # Nothing was changed: it is over, and need not be resumed.
            log.record_receipt(operation, "refused")
            raise
        checks = _verify(plan) if is_new else ()
        log.record_receipt(operation, "done", files=len(plan.change.paths), verified=checks)
        if isinstance(plan, UndoPlan):
            log.record_receipt(plan.of, "undone", by=operation)
    if failed := [check.what for check in checks if not check.holds]:
        raise messages.NOT_VERIFIED(operation=operation, failed=failed, subject=plan.pipeline or plan.checkpoint)
    return checks


def _complete_history(location: CheckpointLocation) -> None:
    """Batches that a killed run has left without a line get theirs, as long as their logs are in their place.

    Behind a fence they may not be: then this was done before it was raised.
    """
    logs = read_logs(location.storage())
    if logs.fence is None:
        reconcile(location, logs)


def roll_back(log: OperationLog, operation: Operation, progress: OnProgress) -> None:
    """Takes an operation that is not finished back to where it began."""
    plan = plan_of(operation)
    with _lease(plan):
        _application(plan, progress).roll_back()
        log.record_receipt(operation.id, "rolled back")


def is_under_way(operation: Operation) -> bool:
    """Whether it can still be rolled back: it has no receipt, and the fence did not come down over the new tree."""
    return operation.receipt is None and not _application(plan_of(operation), silent).is_committed()


def undo_plan(log: OperationLog, operation: Operation) -> UndoPlan:
    """Refuses where there is nothing to undo, or it cannot be undone any more."""
    if operation.kind != "rewind":
        instead = messages.CORRECT_AGAIN() if operation.kind == "reprocess" else messages.REWIND_AGAIN()
        raise messages.NOT_A_REWIND(operation=operation.id, instead=instead)
    for state, refused in (
        ("undone", messages.ALREADY_UNDONE),
        ("rolled back", messages.WAS_ROLLED_BACK),
        ("refused", messages.WAS_REFUSED),
    ):
        if operation.state == state:
            raise refused(operation=operation.id)
    rewind = operation.decode(REWIND)
    if (later := next((one for one in log.all() if _follows(one, rewind)), None)) is not None:
        raise messages.LATER_OPERATION(later=later.id, operation=operation.id)
    location = CheckpointLocation(Path(rewind.checkpoint))
    plan = plan_undo(rewind, read_checkpoint(location.storage()), new_operation_id("undo"))
    _check_set_aside(plan, location)
    sink = rewind.change.sink
    if (policy := policy_for(sink, operation.plan_path)) is not None:
        policy.check_undo(sink.params, operation.id)
    return plan


def _follows(one: Operation, rewind: RewindPlan) -> bool:
    """A rewind that began with the tree that this one left."""
    # By its JSON: another's plan need not be one that this version understands.
    change = one.plan.get("change")
    is_later = one.kind == "rewind" and one.state == "done" and one.plan.get("checkpoint") == rewind.checkpoint
    return is_later and isinstance(change, dict) and change.get("before") == rewind.change.after


def _check_set_aside(plan: UndoPlan, location: CheckpointLocation) -> None:
    """They may have been removed to free space."""
    storage = location.storage()
    gone = [source for source, _ in plan.change.moves if not storage.holds(source)]
    if gone:
        raise messages.ASIDE_GONE(operation=plan.of, count=len(gone), first=gone[0])


def _verify(plan: Plan) -> tuple[Check, ...]:
    checkpoint = read_checkpoint(CheckpointLocation(Path(plan.checkpoint)).storage())
    return verify_rewind(plan, checkpoint) if isinstance(plan, RewindPlan) else verify(plan.change, checkpoint)


def _application(plan: Plan, progress: OnProgress) -> Application:
    location, operation = CheckpointLocation(Path(plan.checkpoint)), plan.change.operation
    journal = REWIND.encode(plan) if isinstance(plan, RewindPlan) else UNDO.encode(plan)
    # Before anything is touched: a plan of a newer version may name a sink that this one does not know.
    policy = policy_for(plan.change.sink, f"plan {operation}")

    def change_sink(change: SinkChange) -> None:
        if policy is not None:
            (policy.take_back if change.action == "take back" else policy.put_back)(change.params)

    def write_history() -> None:
        if isinstance(plan, RewindPlan):
            append_rewind(location, operation, plan.batch)
        else:
            append_undo(location, operation, plan.of)

    application = Application(plan.change, journal, location.storage(), change_sink, progress)
    if plan.pipeline is None:
        return application
    return replace(application, write_history=write_history, take_back_history=lambda: take_back(location, operation))


@contextmanager
def _lease(plan: Plan) -> Iterator[None]:
    """Only our own pipelines know leases; of others the user has said that they are stopped."""
    location = CheckpointLocation(Path(plan.checkpoint))
    if plan.pipeline is None:
        with alone_on(location):
            yield
        return
    lease = take_lease(location, plan.pipeline, "rewind" if isinstance(plan, RewindPlan) else "undo")
    try:
        yield
    finally:
        lease.release()
