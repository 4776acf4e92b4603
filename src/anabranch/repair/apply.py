"""Repairs what an audit found, and audits it again: the same for every command."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from anabranch.audit.scope import windows_in
from anabranch.audit.session import AuditSession
from anabranch.audit.store import audits_of
from anabranch.audit.verdict import Audit
from anabranch.operations.log import new_operation_id
from anabranch.pipeline.definition import Pipeline
from anabranch.project.project import Project
from anabranch.project.session import Count
from anabranch.repair.inspect import plan_repair
from anabranch.repair.plan import Repairable
from anabranch.reprocess.apply import apply_reprocess
from anabranch.reprocess.plan import ReprocessPlan


@dataclass(frozen=True)
class Repaired:
    # None: there was nothing to send.
    plan: ReprocessPlan | None
    # How many results were acknowledged. None: it was not carried out.
    sent: int | None = None
    # Of all windows that were wrong, also of those that were left as they are.
    after: Audit | None = None


def repair(
    project: Project,
    pipeline: Pipeline,
    audit: Audit,
    only: tuple[Repairable, ...],
    *,
    agreed: Callable[[ReprocessPlan], bool],
    sending: Callable[[], AbstractContextManager[Count]],
    session: AuditSession,
) -> Repaired:
    """`agreed`: shows the plan, and whether it is to be carried out."""
    operation = new_operation_id("repair")
    with project.operations.prepared(operation):
        plan = plan_repair(project, pipeline, audit, only, operation)
        if plan is None or not agreed(plan):
            return Repaired(plan)
        with sending() as count:
            sent = apply_reprocess(project, plan, count)
    wrong = audits_of(project, pipeline).wrong_windows(audit) or set()
    return Repaired(plan, sent, session.audit(windows_in(sorted(wrong), pipeline)))
