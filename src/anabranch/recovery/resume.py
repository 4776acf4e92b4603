"""Finishes an interrupted operation, by the plan that was written before it began."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from anabranch.operations.log import Operation
from anabranch.operations.messages import NOTHING_TO_RESUME
from anabranch.project.project import Project
from anabranch.reprocess.apply import FORMATS, apply_reprocess
from anabranch.reprocess.explain import explain_sent
from anabranch.rewind.apply import apply, plan_of
from anabranch.rewind.explain import explain_done


def find_resumable(project: Project, operation_id: str) -> Operation:
    operation = project.operations.find(operation_id)
    if operation.receipt is not None:
        raise NOTHING_TO_RESUME(operation=operation_id)
    return operation


def resume(project: Project, operation: Operation, progress: Callable[[int, int], None]) -> Iterable[str]:
    """What was done, in words."""
    if (sends := FORMATS.get(operation.kind)) is not None:
        plan = operation.decode(sends)
        return explain_sent(plan, apply_reprocess(project, plan, progress))
    change = plan_of(operation)
    return explain_done(change, apply(project.operations, change, progress))
