"""One Spark for the audits of a command: it starts when the first of them has something to compare, and ends with the block."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from anabranch.audit.apply import make_audit
from anabranch.audit.look import look_at
from anabranch.audit.scope import Wanted
from anabranch.audit.verdict import Audit
from anabranch.errors import counted
from anabranch.pipeline.definition import Pipeline
from anabranch.pipeline.sinks import Table
from anabranch.project.project import Project
from anabranch.project.session import Busy, new_log_file, open_session
from anabranch.reprocess.apply import batch_job_settings, lake_for_executors
from anabranch.spark.executors import SharedPath
from anabranch.spark.session import ADAPTIVE
from anabranch.spark.watch import tasks_told

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from anabranch.spark.session import Session

T = TypeVar("T")
# What is counted on the way is lost where Spark leaves out of its plan what has turned out to be empty.
OBSERVING = {f"{ADAPTIVE}.optimizer.excludedRules": "org.apache.spark.sql.execution.adaptive.AQEPropagateEmptyRelation"}


class AuditSession:
    def __init__(
        self, project: Project, pipeline: Pipeline, ui: Busy, *, changes: Mapping[str, str], debug: bool = False
    ) -> None:
        self._project, self._pipeline, self._ui, self._debug = project, pipeline, ui, debug
        self._changes = {**batch_job_settings(project), **changes, **OBSERVING}
        self._session: Session | None = None

    def __enter__(self) -> AuditSession:
        return self

    def __exit__(self, *error: object) -> None:
        if self._session is not None:
            with self._ui.busy("Ending Spark"):
                self._session.end()

    def audit(self, wanted: Wanted) -> Audit:
        with self._ui.busy("Looking at the stream and the lake"):
            look = look_at(self._project, self._pipeline, wanted)
        if not look.ranges:
            return make_audit(self._project, look, self._spark, lambda _: None)
        session = self._opened()
        records = counted(sum(one.usable for one in look.judged.values()), "record")
        with (
            self._ui.busy(f"Judging {counted(len(look.judged), 'window')} by {records} of the lake") as phase,
            session.jvm.blamed(),
            tasks_told(session.spark, phase),
        ):
            return make_audit(self._project, look, self._spark, phase)

    def run(self, what: str, job: Callable[[SparkSession], T]) -> T:
        """A job of its own, told while it runs."""
        session = self._opened()
        with self._ui.busy(what) as phase, session.jvm.blamed(), tasks_told(session.spark, phase):
            return job(session.spark)

    def _spark(self) -> SparkSession:
        return self._opened().spark

    def _opened(self) -> Session:
        if self._session is None:
            shared = lake_for_executors(self._project, self._pipeline)
            if isinstance(self._pipeline.sink, Table):
                shared = [*shared, SharedPath(Path(self._pipeline.sink.path), is_written=False)]
            log_file = new_log_file(self._project, "audit")
            self._session = open_session(
                self._project, self._ui, log_file, changes=self._changes, shared=shared, debug=self._debug
            )
        return self._session
