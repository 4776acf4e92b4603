"""Reprocess: inspect, plan, apply. The running query is not touched: it is only looked at, through its checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

from anabranch.checkpoint.offsets import OffsetRange
from anabranch.delta.lake import files_within
from anabranch.errors import Refused
from anabranch.kafka.records import GroupProducer, latest_by_key, read_records
from anabranch.operations.fence import check_not_fenced
from anabranch.operations.log import new_operation_id, record_plan, record_receipt
from anabranch.pipeline.definition import VISITS_LAKE, Pipeline, Topic, find_pipeline
from anabranch.project.cluster import kafka_of, topics_of
from anabranch.project.project import Project
from anabranch.reprocess.inspect import later_results, stream_state, take_snapshot
from anabranch.reprocess.plan import (
    Change,
    Range,
    RangeChunk,
    ReprocessPlan,
    changes_between,
    check_closed,
    check_lake,
    check_not_stale,
    check_recomputable,
    count_windows,
    partitions_of,
    split_range,
    whole_windows,
)
from anabranch.reprocess.staleness import InputSnapshot
from anabranch.spark.session import Session
from anabranch.streaming.result_headers import operation_headers

# Results between two acknowledgements, and so between two steps of progress.
_GROUP = 500
# Rows between two steps of progress: some seconds of work, beside which the 0.3 s of a further Spark job are little.
_PORTION_ROWS = 500_000
# Records without a time are read with each portion: they may add a quarter to it, not more.
_PORTION_OF_UNTIMED = 4

# Windows done and in all, rows done and in all.
Recomputed = Callable[[int, int, int, int], None]


def with_topic(pipeline: Pipeline, name: str | None) -> Pipeline:
    """The pipeline as sent to the topic whose results are to be corrected."""
    check_recomputable(pipeline)
    if name is not None:
        return replace(pipeline, sink=Topic(name))
    if not isinstance(pipeline.sink, Topic):
        raise Refused(
            f"{pipeline.name} is sent to no topic whose results could be corrected.",
            f"anabranch reprocess {pipeline.name} --topic NAME   where it was run with --to topic NAME",
        )
    return pipeline


def check_range(project: Project, pipeline: Pipeline, asked: Range) -> Range:
    """The whole windows of what was asked for; refuses what may not be recomputed now. Starts no Spark."""
    assert pipeline.window_s is not None
    wanted = whole_windows(asked, pipeline.window_s)
    for one in (pipeline, project.pipeline(VISITS_LAKE)):
        check_not_fenced(project.checkpoint(one), f"{pipeline.name} cannot be recomputed")
    state = stream_state(project, pipeline)
    check_closed(pipeline, wanted, state)
    check_lake(pipeline, state)
    return wanted


def plan_reprocess(
    project: Project, pipeline: Pipeline, asked: Range, wanted: Range, session: Session, progress: Recomputed
) -> ReprocessPlan:
    assert isinstance(pipeline.sink, Topic)
    assert pipeline.window_s is not None
    topics = topics_of(project)
    lake = files_within(project.lake, *partitions_of(wanted))
    rows_at_most = max(_PORTION_ROWS, _PORTION_OF_UNTIMED * lake.rows_without_time)
    parts = list(split_range(wanted, pipeline.window_s, lake.rows_by_hour, rows_at_most))
    try:
        results = _recompute(project, pipeline, parts, lake.version, session, progress)
    finally:
        session.end()
    ground = take_snapshot(project, pipeline, wanted, topics, lake.version)
    within = {partition: OffsetRange(*held) for partition, held in ground.results.items()}
    latest = latest_by_key(read_records(topics, pipeline.sink.name, follow=False, within=within))
    return ReprocessPlan(
        operation=new_operation_id("reprocess"),
        pipeline=pipeline.name,
        topic=pipeline.sink.name,
        asked=asked,
        range=wanted,
        windows=count_windows(wanted, pipeline.window_s),
        lake=str(project.lake),
        lake_version=lake.version,
        files=lake.files,
        rows=lake.rows,
        changes=changes_between(results, {key: record.value_text for key, record in latest.items()}),
        ground=ground,
    )


def _recompute(
    project: Project, pipeline: Pipeline, parts: list[RangeChunk], version: int, session: Session, progress: Recomputed
) -> list[tuple[str, str]]:
    from anabranch.reprocess.recompute import recompute

    assert pipeline.window_s is not None
    zone, lake = project.settings.timezone, str(project.lake)
    windows_in_all = sum(count_windows(part.range, pipeline.window_s) for part in parts)
    rows_in_all = sum(part.rows for part in parts)
    results: list[tuple[str, str]] = []
    windows, rows = 0, 0
    progress(0, windows_in_all, 0, rows_in_all)
    for part in parts:
        results += recompute(session.spark, pipeline, part.range, lake=lake, version=version, zone=zone)
        windows, rows = windows + count_windows(part.range, pipeline.window_s), rows + part.rows
        progress(windows, windows_in_all, rows, rows_in_all)
    return results


def apply_reprocess(project: Project, plan: ReprocessPlan, progress: Callable[[int, int], None]) -> int:
    """Sends every result of the plan; how many were acknowledged. Done again it sends the same results again.

    Two at once do no harm: both have found the same visits in the lake, so they send the same.
    """
    pipeline = with_topic(project.pipeline(find_pipeline(plan.pipeline)), plan.topic)
    # Windows that are open will close: one that was interrupted can be resumed then.
    check_closed(pipeline, plan.range, stream_state(project, pipeline))
    record_plan(project, plan.operation, "reprocess", asdict(plan))
    try:
        _check_ground(project, pipeline, plan)
    except Refused:
        # What moved does not move back: there will be nothing to resume.
        record_receipt(project, plan.operation, {"outcome": "refused"})
        raise
    sent = _send(project, plan, progress)
    record_receipt(project, plan.operation, {"planned": len(plan.changes), "acknowledged": sent})
    return sent


def _check_ground(project: Project, pipeline: Pipeline, plan: ReprocessPlan) -> None:
    topics = topics_of(project)
    now = take_snapshot(project, pipeline, plan.range, topics)
    check_not_stale(plan, now, list(later_results(topics, plan.topic, plan.ground, now)))


def _send(project: Project, plan: ReprocessPlan, progress: Callable[[int, int], None]) -> int:
    producer = GroupProducer(kafka_of(project).for_python, plan.topic)
    headers = operation_headers(plan.pipeline, "reprocess", plan.operation)
    sent = 0
    for first in range(0, len(plan.changes), _GROUP):
        group = plan.changes[first : first + _GROUP]
        producer.send([(change.key.encode(), change.after.encode()) for change in group], headers=headers)
        sent += len(group)
        progress(sent, len(plan.changes))
    return sent


def plan_from_record(record: dict[str, Any]) -> ReprocessPlan:
    """The plan as it was written down before the first result was sent."""
    fields = {name: value for name, value in record.items() if name != "kind"}
    ranges = {name: Range(**fields[name]) for name in ("asked", "range")}
    changes = tuple(Change(**change) for change in fields["changes"])
    return ReprocessPlan(**{**fields, **ranges, "changes": changes, "ground": _ground_from_record(fields["ground"])})


def _ground_from_record(record: dict[str, Any]) -> InputSnapshot:
    """JSON knows only text as keys, and no tuples."""
    pairs = {name: {int(key): (pair[0], pair[1]) for key, pair in record[name].items()} for name in ("results", "visits")}
    return InputSnapshot(**{**record, **pairs})
