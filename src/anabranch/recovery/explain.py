"""The plan and the receipt of any operation in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from anabranch.operations.log import Operation, OperationLog
from anabranch.reprocess.apply import FORMATS
from anabranch.reprocess.explain import explain_reprocess
from anabranch.reprocess.plan import ReprocessPlan
from anabranch.rewind.apply import Plan, plan_of
from anabranch.rewind.explain import explain


def list_operations(log: OperationLog) -> list[Operation]:
    """The newest first; one whose plan lacks something, or has more than this version knows, is unreadable as well."""
    return [operation.checked(_decoded) for operation in log.all()]


def explain_plan(operation: Operation) -> Iterable[str]:
    plan = _decoded(operation)
    return explain_reprocess(plan) if isinstance(plan, ReprocessPlan) else explain(plan)


def _decoded(operation: Operation) -> Plan | ReprocessPlan:
    return plan_of(operation) if (sends := FORMATS.get(operation.kind)) is None else operation.decode(sends)


def explain_receipt(operation: Operation) -> Iterator[str]:
    receipt = operation.receipt
    if receipt is None:
        or_back = "" if operation.kind in FORMATS else f", anabranch undo {operation.id} rolls it back"
        yield f"Not finished: anabranch resume {operation.id} finishes it{or_back}."
        return
    by = f" by {receipt.by}" if receipt.by else ""
    yield f"{receipt.outcome.capitalize()}{by}, {receipt.at}"
    if receipt.acknowledged is not None:
        yield f"  {receipt.acknowledged} of {receipt.planned} results acknowledged"
    for check in receipt.verified:
        yield f"  {'verified' if check.holds else 'DOES NOT HOLD'}: {check.what.text}"
