"""The audits of a project: one directory each, with what was found, and beside it all results that are wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from heapq import merge
from pathlib import Path
from typing import Any
from uuid import uuid4

from anabranch.audit import messages
from anabranch.audit.follow import Seen
from anabranch.audit.judge import WRONG
from anabranch.audit.verdict import Audit
from anabranch.errors import AnabranchError, Reason
from anabranch.pipeline.definition import Pipeline
from anabranch.project.project import Project
from anabranch.reprocess.results_file import read_lines, write_lines
from anabranch.storage.files import Format, names_in
from anabranch.text.format import utc_ms
from anabranch.text.suggest import nearest_of_many

AUDIT = Format("audit", 1, Audit)

Tell = Callable[[Reason], None]


def new_audit_id() -> str:
    """Sorts by time."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-audit-{uuid4().hex[:4]}"


@dataclass(frozen=True)
class AuditLog:
    """Of one pipeline and sink."""

    directory: Path

    def write_found(self, audit_id: str, found: Iterable[dict[str, Any]]) -> None:
        write_lines(self.found_path(audit_id), found)

    def record(self, audit: Audit) -> None:
        """Behind its results: an audit that is there is whole."""
        AUDIT.write(self._audit(audit.id), audit, indent=2)

    def drop(self, audit_id: str) -> None:
        """The results of an audit that came to nothing."""
        self.found_path(audit_id).unlink(missing_ok=True)
        if (directory := self.directory / audit_id).exists():
            directory.rmdir()

    def found(self, audit_id: str) -> Iterator[dict[str, Any]]:
        return read_lines(self.found_path(audit_id))

    def wrong_windows(self, audit: Audit) -> set[int] | None:
        """When each window begins that has a wrong result. None: its results can no longer be read."""
        starts, results = set[str](), 0
        for one in self.found(audit.id) if audit.wrong_results else ():
            if one["class"] in WRONG:
                starts.add(one["window"]["start"])
                results += 1
        return {utc_ms(start) for start in starts} if results == audit.wrong_results else None

    def newest_first(self, tell: Tell = lambda _: None) -> Iterator[Audit]:
        """Those that can be read. `tell` is told of the others, such as those of a newer version."""
        for name in sorted(names_in(self.directory), reverse=True):
            try:
                audit = AUDIT.read(self._audit(name))
            except AnabranchError as error:
                tell(messages.AUDIT_UNREADABLE(audit=name, why=error.reason))
                continue
            if audit is not None:
                yield audit

    def find(self, audit_id: str) -> Audit:
        audit = AUDIT.read(self._audit(audit_id)) if audit_id in names_in(self.directory) else None
        if audit is None:
            suggestion = nearest_of_many(audit_id, names_in(self.directory))
            raise messages.UNKNOWN_AUDIT(audit=audit_id, suggestion=suggestion)
        return audit

    def _audit(self, audit_id: str) -> Path:
        return self.directory / audit_id / "audit.json"

    def found_path(self, audit_id: str) -> Path:
        return self.directory / audit_id / "found.jsonl.gz"


def audits_of(project: Project, pipeline: Pipeline) -> AuditLog:
    return AuditLog(project.home / "audits" / pipeline.name / project.checkpoint(pipeline).path.name)


def last_of_all(project: Project, pipeline: Pipeline) -> Seen | None:
    """None: there is no audit that had no range, or what one has found since can no longer be read."""
    log, wrong = audits_of(project, pipeline), set[int]()
    for audit in log.newest_first():
        if (found := log.wrong_windows(audit)) is None:
            return None
        wrong |= found
        if audit.asked is None:
            return Seen(audit, tuple(sorted(wrong)))
    return None


def newest_audit(project: Project, pipeline: str, sink: str, tell: Tell) -> Audit | None:
    """`sink`: the name of the checkpoint's directory. `tell`: of newer ones that cannot be read. None older is read."""
    return next(AuditLog(project.home / "audits" / pipeline / sink).newest_first(tell), None)


def all_audits(project: Project, tell: Tell) -> Iterator[Audit]:
    """Of every pipeline, the newest first; no more are read than are taken. `tell`: of those that cannot be read."""
    root = project.home / "audits"
    logs = [AuditLog(root / name / sink) for name in sorted(names_in(root)) for sink in sorted(names_in(root / name))]
    yield from merge(*(log.newest_first(tell) for log in logs), key=lambda audit: audit.id, reverse=True)
