"""What a batch did, from its progress event and its entries in the checkpoint's logs."""

from __future__ import annotations

from typing import Any

from anabranch.checkpoint.checkpoint import Checkpoint
from anabranch.checkpoint.figures import moment_s
from anabranch.checkpoint.history import BatchRecord, NewestEvent, WatermarkJump
from anabranch.checkpoint.logged import logged
from anabranch.pipeline.definition import Pipeline
from anabranch.pipeline.sinks import Table
from anabranch.pipeline.windows import windows_of
from anabranch.streaming.lateness import NAMED_JUMP_MS, count_late, moved_ms
from anabranch.streaming.transforms import counted_as, counts_windows
from anabranch.text.format import iso_utc


def batch_record(
    progress: dict[str, Any], pipeline: Pipeline, logs: Checkpoint, *, was_retried: bool = False, code: str | None = None
) -> BatchRecord:
    """Where nothing was counted although the batch has read records, its figures are not known.

    `was_retried`: a stage ran twice. In a topic with holes that may show in no figure. `code`: that its results are of.
    """
    batch: int = progress["batchId"]
    told = logged(logs, batch)
    spanned = told.records
    counted = _counted(progress.get("observedMetrics", {}), len(pipeline.topics))
    # A table skips a batch that it has seen, after a crash between its commit and Spark's: nothing runs, 0 is counted.
    if counted is None or (counted["records"] == 0 and isinstance(pipeline.sink, Table)):
        counted = {"records": spanned, "problems": None if spanned else 0}
    late, is_exact = _late(progress, pipeline, logs, counted)
    # A stage that is retried, after an executor was lost, counts its records again: no more were read than the offsets span,
    # which holes of compaction and transactions can only make fewer.
    is_counted_twice = spanned is not None and (counted["records"] or 0) > spanned
    return BatchRecord(
        batch=batch,
        at=progress["timestamp"],
        records=spanned if is_counted_twice else counted["records"],
        problems=counted["problems"],
        late=late,
        is_exact=is_exact and not is_counted_twice and not was_retried,
        rows_per_s=round(progress.get("processedRowsPerSecond", 0.0), 1),
        duration_ms=progress.get("batchDuration"),
        watermark=told.watermark,
        newest_event=_newest_event(counted.get("newest")),
        ranges=told.ranges,
        planned_at=told.planned_at,
        committed_at=_committed_at(progress),
        phases_ms=progress.get("durationMs"),
        state_rows=_state_rows(progress),
        code=code,
    )


def _committed_at(progress: dict[str, Any]) -> str | None:
    begun_s, duration_ms = moment_s(progress["timestamp"]), progress.get("batchDuration")
    return None if begun_s is None or duration_ms is None else iso_utc(round(begun_s * 1000) + duration_ms)


def _state_rows(progress: dict[str, Any]) -> int | None:
    operators = progress.get("stateOperators")
    if operators is None:
        return None
    rows: int = sum(operator["numRowsTotal"] for operator in operators)
    # Operators that did not run, and those whose rows are not tracked, say 0 whatever they hold.
    return None if operators and rows <= 0 else rows


def _counted(observed: dict[str, Any], topics: int) -> dict[str, Any] | None:
    """Over all topics that the pipeline reads; None: of one of them nothing was observed."""
    found = [observed.get(counted_as(number)) for number in range(topics)]
    if topics == 1 or None in found:
        return found[0] if topics == 1 else None
    each = [one for one in found if one is not None]
    newest = [one["newest"] for one in each if one.get("newest")]
    return {
        "records": sum(one["records"] for one in each),
        "problems": sum(one["problems"] for one in each),
        "newest": max(newest, key=lambda event: int(event["event_ms"]), default=None),
    }


def watermark_jump(record: BatchRecord, pipeline: Pipeline, logs: Checkpoint) -> WatermarkJump | None:
    """The jump that the batch has caused: it is in force from the next one on."""
    planned, committed = logs.offset_entry(record.batch), logs.commit_entry(record.batch)
    if planned is None or committed is None:
        return None
    before_ms, after_ms = planned.watermark_ms, committed.next_watermark_ms
    if moved_ms(before_ms, after_ms) <= jump_limit_ms(pipeline):
        return None
    return WatermarkJump(record.batch, iso_utc(before_ms), iso_utc(after_ms), record.newest_event)


def jump_limit_ms(pipeline: Pipeline) -> float:
    return NAMED_JUMP_MS if pipeline.watermark_jump_s is None else pipeline.watermark_jump_s * 1000


def _late(progress: dict[str, Any], pipeline: Pipeline, logs: Checkpoint, counted: dict[str, Any]) -> tuple[int | None, bool]:
    if pipeline.watermark_s is None or counted["problems"] is None:
        return None, True
    if not counts_windows(pipeline):
        # Rows that are not grouped beforehand: here Spark's own counter is exact.
        return sum(operator["numRowsDroppedByWatermark"] for operator in progress["stateOperators"]), True
    before = logs.offset_entry(progress["batchId"] - 1)
    if progress["batchId"] > 0 and before is None:
        return None, False
    bins = [(one["x"], one["y"]) for one in counted.get("windows") or ()]
    return count_late(bins, windows_of(pipeline), before.watermark_ms if before else 0)


def _newest_event(found: dict[str, Any] | None) -> NewestEvent | None:
    if not found:
        return None
    return NewestEvent(iso_utc(found["event_ms"]), found["topic"], found["partition"], found["offset"])
