"""Reprocess: plan and apply. The running query is not touched: only its checkpoint is read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from anabranch.checkpoint.layout import OffsetRange
from anabranch.delta.lake import files_within
from anabranch.errors import Refused
from anabranch.kafka.records import GroupProducer, latest_by_key, read_records
from anabranch.operations.log import new_operation_id
from anabranch.pipeline.definition import Pipeline
from anabranch.pipeline.sinks import Results
from anabranch.pipeline.windows import windows_of
from anabranch.project.kafka import admin_of, cluster_of
from anabranch.project.project import Project
from anabranch.project.session import Busy, Count
from anabranch.reprocess.inspect import lake_behind, later_results, stream_state, take_snapshot
from anabranch.reprocess.plan import (
    Range,
    RangeChunk,
    ReprocessPlan,
    changes_between,
    check_closed,
    check_not_stale,
    count_windows,
    hours_of,
    split_range,
    times_of,
    unexpected_between,
    with_topic,
)
from anabranch.spark.executors import SharedPath
from anabranch.spark.session import Session
from anabranch.storage.files import Format
from anabranch.streaming.result_headers import operation_headers

# Format 1 did not look for results of windows without records.
REPROCESS = Format("reprocess", 2, ReprocessPlan, {1: lambda fields: {"unexpected": [], **fields}})
# Results between two acknowledgements, and so between two steps of progress.
_GROUP = 500
# Rows between two steps of progress: some seconds of work, beside which the 0.3 s of a further Spark job are little.
_CHUNK_ROWS = 500_000
# Records without a time are read with each chunk: they may add a quarter to it, not more.
_CHUNKS_OF_UNTIMED = 4


def lake_for_executors(project: Project, pipeline: Pipeline) -> list[SharedPath]:
    return [SharedPath(lake_behind(project, pipeline), is_written=False)]


def plan_reprocess(
    project: Project,
    pipeline: Pipeline,
    asked: Range,
    wanted: Range,
    lake_version: int,
    session: Session,
    ui: Busy,
) -> ReprocessPlan:
    assert isinstance(pipeline.sink, Results)
    admin, path, windows = admin_of(project), lake_behind(project, pipeline), windows_of(pipeline)
    with ui.busy("Finding the files of the lake"):
        lake = files_within(path, *hours_of(times_of(wanted, windows)), lake_version)
    rows_at_most = max(_CHUNK_ROWS, _CHUNKS_OF_UNTIMED * lake.rows_without_time)
    chunks = list(split_range(wanted, windows, lake.rows_by_hour, rows_at_most))
    try:
        with ui.counting("Recomputing windows from the lake") as count, session.jvm.blamed():
            results = _recompute(project, pipeline, chunks, (path, lake.version), session, count)
    finally:
        with ui.busy("Ending Spark"):
            session.end()
    with ui.busy(f"Comparing with what {pipeline.sink.name} holds") as phase:
        phase("counting the records of the lake")
        inputs = take_snapshot(project, pipeline, wanted, admin, lake.version)
        phase("reading the results of the topic")
        within = {partition: OffsetRange(*held) for partition, held in inputs.results.items()}
        records = latest_by_key(read_records(admin, pipeline.sink.name, within=within))
    latest = {key: record.value_text for key, record in records.items()}
    return ReprocessPlan(
        operation=new_operation_id("reprocess"),
        pipeline=pipeline.name,
        topic=pipeline.sink.name,
        asked=asked,
        range=wanted,
        windows=count_windows(wanted, windows),
        lake=str(path),
        lake_version=lake.version,
        files=lake.files,
        rows=lake.rows,
        changes=changes_between(results, latest),
        unexpected=unexpected_between(results, latest, wanted),
        inputs=inputs,
    )


def _recompute(
    project: Project, pipeline: Pipeline, chunks: list[RangeChunk], lake: tuple[Path, int], session: Session, count: Count
) -> list[tuple[str, str]]:
    from anabranch.reprocess.recompute import recompute

    zone, (path, version) = project.settings.timezone, lake
    windows_in_all = sum(count_windows(chunk.range, windows_of(pipeline)) for chunk in chunks)
    rows_in_all = sum(chunk.rows for chunk in chunks)
    results: list[tuple[str, str]] = []
    windows, rows = 0, 0
    count(0, windows_in_all, f", 0 of {rows_in_all:,} rows")
    for chunk in chunks:
        results += recompute(session.spark, pipeline, chunk.range, lake=str(path), version=version, zone=zone)
        windows, rows = windows + count_windows(chunk.range, windows_of(pipeline)), rows + chunk.rows
        count(windows, windows_in_all, f", {rows:,} of {rows_in_all:,} rows")
    return results


def apply_reprocess(project: Project, plan: ReprocessPlan, progress: Callable[[int, int], None]) -> int:
    """Sends every result of the plan; how many were acknowledged. Repeated, it sends the same results again.

    Two at once do no harm: both have found the same records in the lake, so they send the same.
    """
    pipeline = with_topic(project.find([plan.pipeline])[0], plan.topic)
    # Windows that are open will close: one that was interrupted can be resumed then.
    check_closed(pipeline, plan.range, stream_state(project, pipeline))
    project.operations.record_plan(plan.operation, REPROCESS, plan)
    try:
        _check_not_stale(project, pipeline, plan)
    except Refused:
        # What has changed does not change back: there will be nothing to resume.
        project.operations.record_receipt(plan.operation, "refused")
        raise
    sent = _send(project, plan, progress)
    project.operations.record_receipt(plan.operation, "done", planned=len(plan.changes), acknowledged=sent)
    return sent


def _check_not_stale(project: Project, pipeline: Pipeline, plan: ReprocessPlan) -> None:
    admin = admin_of(project)
    now = take_snapshot(project, pipeline, plan.range, admin)
    check_not_stale(plan, now, list(later_results(admin, plan.topic, plan.inputs, now)))


def _send(project: Project, plan: ReprocessPlan, progress: Callable[[int, int], None]) -> int:
    producer = GroupProducer(cluster_of(project).for_python, plan.topic)
    headers = operation_headers(plan.pipeline, "reprocess", plan.operation)
    sent = 0
    for first in range(0, len(plan.changes), _GROUP):
        group = plan.changes[first : first + _GROUP]
        producer.send([(change.key.encode(), change.after.encode()) for change in group], headers=headers)
        sent += len(group)
        progress(sent, len(plan.changes))
    return sent
