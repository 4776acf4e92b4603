"""The audits of a project: one directory each, with what was found, and beside it all results that are wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from anabranch.audit import messages
from anabranch.audit.verdict import Audit
from anabranch.errors import AnabranchError
from anabranch.pipeline.definition import Pipeline
from anabranch.project.project import Project
from anabranch.reprocess.results_file import read_lines, write_lines
from anabranch.storage.files import Format, names_in
from anabranch.text.suggest import did_you_mean

AUDIT = Format("audit", 1, Audit)


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

    def newest_first(self) -> Iterator[Audit]:
        """Those that can be read."""
        for name in sorted(names_in(self.directory), reverse=True):
            try:
                audit = AUDIT.read(self._audit(name))
            except AnabranchError:
                continue
            if audit is not None:
                yield audit

    def find(self, audit_id: str) -> Audit:
        audit = AUDIT.read(self._audit(audit_id)) if audit_id in names_in(self.directory) else None
        if audit is None:
            suggestion = did_you_mean(audit_id, names_in(self.directory))
            raise messages.UNKNOWN_AUDIT(audit=audit_id, suggestion=suggestion)
        return audit

    def _audit(self, audit_id: str) -> Path:
        return self.directory / audit_id / "audit.json"

    def found_path(self, audit_id: str) -> Path:
        return self.directory / audit_id / "found.jsonl.gz"


def audits_of(project: Project, pipeline: Pipeline) -> AuditLog:
    return AuditLog(project.home / "audits" / pipeline.name / project.checkpoint(pipeline).path.name)


def last_of_all(project: Project, pipeline: Pipeline) -> Audit | None:
    """The newest that had no range, so all before it was looked at."""
    return next((audit for audit in audits_of(project, pipeline).newest_first() if audit.asked is None), None)


def newest_audit(project: Project, pipeline: str, sink: str) -> Audit | None:
    """`sink`: the name of the checkpoint's directory. No more than one is read."""
    return next(AuditLog(project.home / "audits" / pipeline / sink).newest_first(), None)


def all_audits(project: Project) -> Iterator[Audit]:
    """Of every pipeline, the newest first."""
    root = project.home / "audits"
    logs = [AuditLog(root / name / sink) for name in sorted(names_in(root)) for sink in sorted(names_in(root / name))]
    yield from sorted((audit for log in logs for audit in log.newest_first()), key=lambda audit: audit.id, reverse=True)
