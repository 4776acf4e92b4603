"""Pipelines of a project that ran without Spark: a drawn checkpoint, and a history of made-up batches beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import CommitProperties, Transaction, write_deltalake

from anabranch.checkpoint.history import EMPTY, BatchRecord, HistoryEntry, append_batch, entry_after
from anabranch.checkpoint.reader import read_logs
from anabranch.pipeline.builtin.catalog import BUILTIN
from anabranch.pipeline.definition import Pipeline, find_pipeline
from anabranch.pipeline.sinks import Table
from anabranch.project.project import Project, open_project
from anabranch.storage.files import CheckpointLocation
from tests.support.drawing import draw, write_tree

MINUTE_S = 60.0


def record(batch: int, age_s: float = 0.0, **changes: Any) -> BatchRecord:
    """A batch of 10 records, one with a problem, two late, that started so long ago."""
    ran = BatchRecord(batch, at(age_s), 10, 1, 2, True, 5.0, 1500, "2025-09-04T07:00:00.000Z", None)
    return replace(ran, **changes)


def at(age_s: float) -> str:
    return (datetime.now(UTC) - timedelta(seconds=age_s)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def chain(records: Iterable[BatchRecord]) -> list[HistoryEntry]:
    """Oldest first, each with the totals so far."""
    entries = [EMPTY]
    for one in records:
        entries.append(entry_after(entries[-1], one))
    return entries[1:]


def backward(entries: list[HistoryEntry]) -> Iterator[HistoryEntry]:
    return iter(entries[::-1])


@dataclass(frozen=True)
class MadeProject:
    directory: Path

    def location(self, name: str, to: str | None = None) -> CheckpointLocation:
        project, pipeline = self._sent(name, to)
        return project.checkpoint(pipeline)

    def _sent(self, name: str, to: str | None) -> tuple[Project, Pipeline]:
        # With its mark: a project without one may be of 0.1.0.
        (self.directory / ".anabranch").mkdir(exist_ok=True)
        project = open_project(self.directory)
        return project, project.sent_to(project.pipeline(find_pipeline(BUILTIN.pipelines, name)), to)

    def ran(self, name: str, records: Iterable[BatchRecord], *, batches: int, to: str | None = None) -> CheckpointLocation:
        """A checkpoint of so many committed batches, and a history of these; a table that has them, where it writes to one."""
        project, pipeline = self._sent(name, to)
        location = project.checkpoint(pipeline)
        write_tree(draw(None, batches=range(batches)), location.path)
        if isinstance(pipeline.sink, Table):
            query_id = read_logs(location.storage()).query_id or ""
            written = CommitProperties(app_transactions=[Transaction(query_id, batches - 1)])
            write_deltalake(pipeline.sink.path, pa.table({"offset": [0]}), mode="append", commit_properties=written)
        for one in records:
            append_batch(location, one)
        return location
