"""Writes what each batch of a run did into the history beside its checkpoint, also of those whose event was lost or is late."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from anabranch.checkpoint.checkpoint import Checkpoint
from anabranch.checkpoint.history import BatchRecord, WatermarkJump, append_batch
from anabranch.checkpoint.reader import read_batch, read_logs
from anabranch.checkpoint.reconcile import reconcile
from anabranch.delta.held import read_mark
from anabranch.pipeline.sinks import Table
from anabranch.streaming.batch_figures import batch_record, watermark_jump
from anabranch.streaming.query_events import recent_progress
from anabranch.streaming.running import Running


def begin_recording(running: Running) -> None:
    """Before its query starts: the history has all that was committed until now, by whichever process."""
    checkpoint = read_logs(running.run.location.storage())
    running.recorded = reconcile(running.run.location, checkpoint)
    running.read = checkpoint.start_of(checkpoint.next_batch)
    running.was_written = _newest_written(running, checkpoint)


def record_batch(running: Running, progress: dict[str, Any], *, was_retried: bool) -> tuple[BatchRecord, WatermarkJump | None]:
    location, pipeline = running.run.location, running.run.query.pipeline
    logs = read_batch(location.storage(), progress["batchId"])
    code = _code(running, progress["batchId"])
    record = batch_record(progress, pipeline, logs, was_retried=was_retried, code=code)
    jump = watermark_jump(record, pipeline, logs)
    append_batch(location, record, jump)
    running.recorded, running.failures = record.batch, 0
    running.read = logs.end_of(record.batch) or running.read
    return record, jump


def _code(running: Running, batch: int) -> str | None:
    """None: the table had the batch before this run, and skips it: its rows may be of other code."""
    return None if batch <= running.was_written else running.run.code


def _newest_written(running: Running, checkpoint: Checkpoint) -> int:
    sink = running.run.query.pipeline.sink
    mark = read_mark(sink.path, checkpoint.query_id) if isinstance(sink, Table) else None
    return -1 if mark is None or mark.newest is None else mark.newest


def missed_progress(running: Running, below: int) -> Iterator[dict[str, Any]]:
    """Of the batches whose events were dropped, or are late. What Spark itself no longer has is added from the logs: it keeps
    the last hundred, they know of all."""
    if running.query is None or running.recorded >= below - 1:
        return
    for progress in recent_progress(running.query):
        if running.recorded < progress["batchId"] < below and has_run(progress):
            fill_up(running, below=progress["batchId"])
            yield progress
    fill_up(running, below)


def fill_up(running: Running, below: int) -> None:
    if running.recorded < below - 1:
        location = running.run.location
        running.recorded = reconcile(location, read_logs(location.storage()), below)


def has_run(progress: dict[str, Any]) -> bool:
    """A query without data reports its last batch again, with nothing in it."""
    return "addBatch" in progress["durationMs"]
