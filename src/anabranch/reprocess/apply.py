"""Reprocess: plan and apply. The running query is not touched: only its checkpoint is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from anabranch.delta.lake import files_within
from anabranch.errors import AnabranchError, counted
from anabranch.kafka.records import GroupProducer
from anabranch.pipeline.definition import Pipeline
from anabranch.pipeline.sinks import Results
from anabranch.pipeline.windows import windows_of
from anabranch.project.kafka import admin_of, cluster_of
from anabranch.project.lake import lake_path
from anabranch.project.project import Project
from anabranch.project.session import Busy
from anabranch.reprocess.inspect import filling_of, lake_behind, later_results, stream_state, take_snapshot
from anabranch.reprocess.messages import RESULTS_DAMAGED
from anabranch.reprocess.plan import (
    Change,
    Compared,
    Range,
    ReprocessPlan,
    check_closed,
    check_not_stale,
    count_windows,
    hours_of,
    times_of,
    with_topic,
)
from anabranch.reprocess.results_file import read_results, write_results
from anabranch.reprocess.rules import is_as_decoded_now
from anabranch.reprocess.staleness import InputSnapshot
from anabranch.reprocess.tally import Tally
from anabranch.spark.executors import SharedPath
from anabranch.spark.session import Session
from anabranch.spark.watch import tasks_told
from anabranch.storage.files import Format
from anabranch.streaming.result_headers import operation_headers
from anabranch.text.format import iso_utc

if TYPE_CHECKING:
    from anabranch.reprocess.recompute import LakeRead


def _from_1(fields: dict[str, Any]) -> dict[str, Any]:
    """It did not look for results of windows without records."""
    return _from_2({"unexpected": [], **fields})


def _from_2(fields: dict[str, Any]) -> dict[str, Any]:
    """All of its results are in the plan itself."""
    changes = fields["changes"]
    counts = {
        "results": len(changes),
        "changed": sum(change["before"] != change["after"] for change in changes),
        "unexpected_results": len(fields["unexpected"]),
    }
    return {**fields, **counts, "ranges": [fields["range"]], "audit": None}


REPROCESS = Format("reprocess", 3, ReprocessPlan, {1: _from_1, 2: _from_2})
REPAIR = Format("repair", 1, ReprocessPlan)
# The kinds of operations that send results.
FORMATS = {one.kind: one for one in (REPROCESS, REPAIR)}
# Results between two acknowledgements, and so between two steps of progress.
_GROUP = 500
# So many later results are held against the plan's at a time: the driver holds no more.
_LATER_AT_ONCE = 100_000
# For a batch job over many rows. So many partitions, of which Spark puts small ones together: one of them is all that the
# driver holds at a time. Their size is that of compressed rows, and results of one pipeline are so alike that they shrink to
# a tenth and less.
BATCH_JOB = {
    "spark.sql.shuffle.partitions": "256",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": "2m",
}


def batch_job_settings(project: Project) -> dict[str, str]:
    """Those that the project does not set itself."""
    return {name: value for name, value in BATCH_JOB.items() if name not in project.settings.spark}


def lake_for_executors(project: Project, pipeline: Pipeline) -> list[SharedPath]:
    return [SharedPath(lake_behind(project, pipeline), is_written=False)]


def plan_reprocess(
    project: Project,
    pipeline: Pipeline,
    asked: Range,
    wanted: Range,
    lake_version: int,
    operation: str,
    session: Session,
    ui: Busy,
) -> ReprocessPlan:
    """Its results are in the operation's file from here on."""
    assert isinstance(pipeline.sink, Results)
    path, windows = lake_behind(project, pipeline), windows_of(pipeline)
    tally = Tally()
    with ui.busy("Looking at the lake and the results") as phase:
        phase("finding the files of the lake")
        lake = files_within(path, *hours_of(times_of(wanted, windows)), lake_version)
        phase("counting the records of the lake")
        inputs = take_snapshot(project, pipeline, [wanted], admin_of(project), lake.version)
    what = f"Recomputing {counted(count_windows(wanted, windows), 'window')} from {lake.rows:,} rows of the lake"
    try:
        with ui.busy(what) as phase, session.jvm.blamed(), tasks_told(session.spark, phase):
            rows = compare_results(session, project, pipeline, [wanted], inputs, lake.version)
            write_results(project.operations.results_file(operation), filter(None, map(tally.take, rows)))
    finally:
        with ui.busy("Ending Spark"):
            session.end()
    return ReprocessPlan(
        operation=operation,
        pipeline=pipeline.name,
        topic=pipeline.sink.name,
        asked=asked,
        range=wanted,
        ranges=(wanted,),
        windows=count_windows(wanted, windows),
        lake=str(path),
        lake_version=lake.version,
        files=lake.files,
        rows=lake.rows,
        results=tally.results,
        changed=tally.changed,
        changes=tally.changes,
        unexpected_results=tally.unexpected_results,
        unexpected=tally.unexpected,
        inputs=inputs,
        audit=None,
    )


def compare_results(
    session: Session, project: Project, pipeline: Pipeline, wanted: Sequence[Range], inputs: InputSnapshot, version: int
) -> Iterator[Compared]:
    """What the topic holds for each key of these windows, beside what the lake gives for it."""
    from anabranch.reprocess.recompute import (
        TopicRead,
        compared,
        emitted_results,
        recomputed,
        rows_of,
        usable_records,
    )

    assert isinstance(pipeline.sink, Results)
    lake = lake_read(project, pipeline, version)
    topic = TopicRead(pipeline.sink.name, pipeline.name, inputs.results, cluster_of(project).for_java)
    records = usable_records(session.spark, pipeline, wanted, lake)
    emitted = emitted_results(session.spark, topic, wanted)
    return rows_of(compared(emitted, recomputed(records, pipeline, wanted)))


def lake_read(project: Project, pipeline: Pipeline, version: int) -> LakeRead:
    from anabranch.reprocess.recompute import LakeRead

    filling = filling_of(project, pipeline)
    is_as_decoded = is_as_decoded_now(project, pipeline, filling, version)
    return LakeRead(str(lake_path(filling)), version, project.settings.timezone, is_as_decoded)


def apply_reprocess(project: Project, plan: ReprocessPlan, progress: Callable[[int, int], None]) -> int:
    """Sends every result of the plan; how many were acknowledged. Repeated, it sends the same results again.

    Two at once do no harm: both have found the same records in the lake, so they send the same.
    """
    pipeline = with_topic(project.find([plan.pipeline])[0], plan.topic)
    # Windows that are open will close: one that was interrupted can be resumed then.
    check_closed(pipeline, plan.range, stream_state(project, pipeline))
    project.operations.record_plan(plan.operation, FORMATS[plan.kind], plan)
    try:
        _check_not_stale(project, pipeline, plan)
        _check_whole(project, plan)
    except AnabranchError:
        # What has changed does not change back: there will be nothing to resume.
        project.operations.record_receipt(plan.operation, "refused")
        raise
    sent = _send(project, plan, progress)
    project.operations.record_receipt(plan.operation, "done", planned=plan.results, acknowledged=sent)
    return sent


def _check_not_stale(project: Project, pipeline: Pipeline, plan: ReprocessPlan) -> None:
    admin = admin_of(project)
    now = take_snapshot(project, pipeline, plan.ranges, admin)
    others = (result for result in later_results(admin, plan, now) if result.operation != plan.operation)
    looked_at = False
    while (later := {result.key: result for result in islice(others, _LATER_AT_ONCE)}) or not looked_at:
        keys = {change.key for change in planned_results(project, plan) if change.key in later} if later else set()
        check_not_stale(plan, now, list(later.values()), keys)
        looked_at = True


def planned_results(project: Project, plan: ReprocessPlan) -> Iterator[Change]:
    """A plan of an earlier format holds all of them itself."""
    file = project.operations.results_file(plan.operation)
    yield from read_results(file) if file.exists() or plan.results > len(plan.changes) else plan.changes


def _check_whole(project: Project, plan: ReprocessPlan) -> None:
    found = sum(1 for _ in planned_results(project, plan))
    if found != plan.results:
        raise RESULTS_DAMAGED(
            path=str(project.operations.results_file(plan.operation)),
            found=found,
            planned=plan.results,
            operation=plan.operation,
            command=plan.kind,
            pipeline=plan.pipeline,
            start=iso_utc(plan.asked.start_ms),
            end=iso_utc(plan.asked.end_ms),
        )


def _send(project: Project, plan: ReprocessPlan, progress: Callable[[int, int], None]) -> int:
    producer = GroupProducer(cluster_of(project).for_python, plan.topic)
    headers = operation_headers(plan.pipeline, plan.kind, plan.operation)
    results, sent = planned_results(project, plan), 0
    while group := list(islice(results, _GROUP)):
        producer.send([(change.key.encode(), change.after.encode()) for change in group], headers=headers)
        sent += len(group)
        progress(sent, plan.results)
    return sent
