"""The state of each pipeline, seen from outside: from its lease, its checkpoint, its history and Kafka. No Spark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from anabranch.checkpoint.checkpoint import Checkpoint
from anabranch.checkpoint.history import newest_entry
from anabranch.checkpoint.reader import read_logs
from anabranch.checkpoint.restartable import lag_of
from anabranch.errors import AnabranchError
from anabranch.kafka.admin import KafkaAdmin
from anabranch.operations.fence import under_way
from anabranch.pipeline.catalog import PIPELINES
from anabranch.pipeline.definition import Pipeline
from anabranch.project.project import Project, admin_of
from anabranch.storage.base import Storage
from anabranch.storage.files import CheckpointLocation
from anabranch.storage.lease import holder_of
from anabranch.text.format import iso_utc


@dataclass(frozen=True)
class PipelineStatus:
    name: str
    sink: str
    running: str | None
    # None: it never ran; or an operation is not finished, and what the checkpoint holds is half done.
    last_batch: int | None
    unfinished_batch: int | None
    # A rewind or undo that is not finished.
    operation: str | None
    watermark: str | None
    # Per partition; None where it is not known: Kafka is unreachable, or an operation is not finished.
    lag: dict[int, int] | None
    # None: the history cannot be read.
    records: int | None
    problems: int | None
    checkpoint: str
    # What could not be read.
    trouble: str | None


@dataclass(frozen=True)
class Status:
    kafka: str
    pipelines: list[PipelineStatus]


def status_of(project: Project) -> Status:
    admin, kafka = _connect(project)
    return Status(kafka, [status for pipeline in PIPELINES for status in _of(project, pipeline, admin)])


def _connect(project: Project) -> tuple[KafkaAdmin | None, str]:
    """Kafka may be unreachable: then the rest is shown all the same."""
    try:
        admin = admin_of(project)
        admin.all()
    except AnabranchError as error:
        return None, error.text
    return admin, admin.address


def _of(project: Project, pipeline: Pipeline, admin: KafkaAdmin | None) -> Iterator[PipelineStatus]:
    for location in project.checkpoints(pipeline):
        yield _status(project.pipeline(pipeline), location, admin)


def _status(pipeline: Pipeline, location: CheckpointLocation, admin: KafkaAdmin | None) -> PipelineStatus:
    storage = location.storage()
    checkpoint = read_logs(storage)
    committed, newest = checkpoint.commits.newest, checkpoint.newest
    operation = _operation(checkpoint, storage)
    is_unfinished = newest is not None and newest not in checkpoint.commits and operation is None
    running, lease_trouble = _running(location)
    records, problems, trouble = _totals(location)
    return PipelineStatus(
        name=pipeline.name,
        sink=location.path.name,
        running=running,
        last_batch=None if operation else committed,
        unfinished_batch=newest if is_unfinished else None,
        operation=operation,
        watermark=None if operation else _watermark(checkpoint),
        lag=None if operation else _lag(pipeline, checkpoint, admin),
        records=records,
        problems=problems,
        checkpoint=str(location),
        trouble=lease_trouble or trouble,
    )


def _watermark(checkpoint: Checkpoint) -> str | None:
    committed = checkpoint.commits.newest
    commit = checkpoint.commit_entry(committed) if committed is not None else None
    return iso_utc(commit.next_watermark_ms) if commit and commit.next_watermark_ms > 0 else None


def _operation(checkpoint: Checkpoint, storage: Storage) -> str | None:
    if checkpoint.fence is None:
        return None
    try:
        return under_way(storage, "its status is unknown") or "an operation without a journal"
    except AnabranchError:
        return "an operation whose journal cannot be read"


def _running(location: CheckpointLocation) -> tuple[str | None, str | None]:
    try:
        holder = holder_of(location)
    except AnabranchError as error:
        return None, error.text
    return holder.describe() if holder else None, None


def _totals(location: CheckpointLocation) -> tuple[int | None, int | None, str | None]:
    try:
        entry = newest_entry(location)
    except AnabranchError as error:
        return None, None, error.text
    return (entry.total_records, entry.total_problems, None) if entry is not None else (0, 0, None)


def _lag(pipeline: Pipeline, checkpoint: Checkpoint, admin: KafkaAdmin | None) -> dict[int, int] | None:
    if admin is None:
        return None
    try:
        ranges = admin.offset_ranges(pipeline.source_topic)
    except AnabranchError:
        return None
    read = checkpoint.start_of(checkpoint.next_batch).get(pipeline.source_topic, {})
    return {partition: lag_of(offsets, read.get(partition)) for partition, offsets in ranges.items()}
