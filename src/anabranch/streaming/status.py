"""The state of each pipeline, seen from outside: from its lease, its checkpoint, its history and Kafka. No Spark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from anabranch.checkpoint.batch_history import read_batches
from anabranch.checkpoint.lease import holder_of
from anabranch.checkpoint.log_reader import Checkpoint
from anabranch.checkpoint.offsets import lag_of
from anabranch.errors import AnabranchError
from anabranch.kafka.admin import Topics
from anabranch.operations.fence import fenced_by
from anabranch.pipeline.definition import PIPELINES, Pipeline, sink_name
from anabranch.project.cluster import topics_of
from anabranch.project.project import Project
from anabranch.text.instants import iso_utc


@dataclass(frozen=True)
class PipelineStatus:
    name: str
    sink: str
    running: str | None
    # None: it never ran.
    last_batch: int | None
    unfinished_batch: int | None
    # A rewind or undo that did not finish.
    operation: str | None
    watermark: str | None
    # Per partition; None where Kafka does not answer.
    lag: dict[int, int] | None
    records: int
    problems: int
    checkpoint: str


@dataclass(frozen=True)
class Status:
    kafka: str
    pipelines: list[PipelineStatus]


def status_of(project: Project) -> Status:
    topics, kafka = _topics(project)
    return Status(kafka, [status for pipeline in PIPELINES for status in _of(project, pipeline, topics)])


def _topics(project: Project) -> tuple[Topics | None, str]:
    """Kafka may be away: then the rest is shown all the same."""
    try:
        topics = topics_of(project)
        topics.all()
    except AnabranchError as error:
        return None, error.fact
    return topics, topics.address


def _of(project: Project, pipeline: Pipeline, topics: Topics | None) -> Iterator[PipelineStatus]:
    for checkpoint in project.checkpoints(pipeline):
        yield _status(project.pipeline(pipeline), checkpoint, topics)


def _status(pipeline: Pipeline, path: Path, topics: Topics | None) -> PipelineStatus:
    checkpoint, holder = Checkpoint(path), holder_of(path)
    planned, committed = checkpoint.planned_batches(), checkpoint.committed_batches()
    commit = checkpoint.commit(committed[-1]) if committed else None
    history, operation = read_batches(path).values(), fenced_by(path)
    is_unfinished = planned and planned[-1] not in committed and operation is None
    return PipelineStatus(
        name=pipeline.name,
        sink=path.name or sink_name(pipeline.sink),
        running=holder.describe() if holder else None,
        last_batch=committed[-1] if committed else None,
        unfinished_batch=planned[-1] if is_unfinished else None,
        operation=operation,
        watermark=iso_utc(commit.next_watermark_ms) if commit and commit.next_watermark_ms > 0 else None,
        lag=_lag(pipeline, checkpoint, topics),
        records=sum(batch.records for batch in history),
        problems=sum(batch.problems for batch in history),
        checkpoint=str(path),
    )


def _lag(pipeline: Pipeline, checkpoint: Checkpoint, topics: Topics | None) -> dict[int, int] | None:
    if topics is None:
        return None
    try:
        reach = topics.reach(pipeline.source_topic)
    except AnabranchError:
        return None
    read = checkpoint.next_start().get(pipeline.source_topic, {})
    return {partition: lag_of(held, read.get(partition)) for partition, held in reach.items()}
