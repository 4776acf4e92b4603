"""Reprocess: inspect, plan, apply. The running query is not touched: it is only looked at, through its checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

from anabranch.core.checkpoint_log import KafkaOffsets
from anabranch.core.errors import Refused
from anabranch.core.pipeline import VISITS_LAKE, Pipeline, Topic
from anabranch.core.reprocess import (
    Change,
    Range,
    ReprocessPlan,
    StreamState,
    changes_between,
    check_closed,
    check_recomputable,
    partitions_of,
    whole_windows,
)
from anabranch.operate.journal import new_operation_id, record_plan, record_receipt
from anabranch.operate.kafka import kafka_of
from anabranch.setup.project import Project
from anabranch.setup.session import Session
from anabranch.world.checkpoints import Checkpoint
from anabranch.world.lake import files_within
from anabranch.world.records import GroupProducer, latest_by_key
from anabranch.world.topics import Topics

# Results between two acknowledgements, and so between two steps of progress.
_GROUP = 500


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
    check_closed(pipeline, wanted, _state(project, pipeline))
    return wanted


def plan_reprocess(project: Project, pipeline: Pipeline, asked: Range, wanted: Range, session: Session) -> ReprocessPlan:
    from anabranch.flow.recompute import recompute

    assert isinstance(pipeline.sink, Topic)
    assert pipeline.window_s is not None
    version, files, rows = files_within(project.lake, *partitions_of(wanted))
    try:
        zone = project.settings.timezone
        results = recompute(session.spark, pipeline, wanted, lake=str(project.lake), version=version, zone=zone)
    finally:
        session.end()
    latest = latest_by_key(Topics(kafka_of(project).for_python), pipeline.sink.name)
    return ReprocessPlan(
        operation=new_operation_id("reprocess"),
        pipeline=pipeline.name,
        topic=pipeline.sink.name,
        asked=asked,
        range=wanted,
        windows=round((wanted.end_ms - wanted.start_ms) / (pipeline.window_s * 1000)),
        lake=str(project.lake),
        lake_version=version,
        files=files,
        rows=rows,
        changes=changes_between(results, latest),
    )


def apply_reprocess(project: Project, plan: ReprocessPlan, progress: Callable[[int, int], None]) -> int:
    """Sends every result of the plan; how many were acknowledged. Done again it sends the same results again."""
    record_plan(project, plan.operation, "reprocess", asdict(plan))
    producer = GroupProducer(kafka_of(project).for_python, plan.topic)
    headers = {
        "anabranch-pipeline": plan.pipeline,
        "anabranch-origin": "reprocess",
        "anabranch-operation": plan.operation,
    }
    sent = 0
    for first in range(0, len(plan.changes), _GROUP):
        group = plan.changes[first : first + _GROUP]
        producer.send([(change.key.encode(), change.after.encode()) for change in group], headers=headers)
        sent += len(group)
        progress(sent, len(plan.changes))
    record_receipt(project, plan.operation, {"planned": len(plan.changes), "acknowledged": sent})
    return sent


def plan_from_record(record: dict[str, Any]) -> ReprocessPlan:
    """The plan as it was written down before the first result was sent."""
    fields = {name: value for name, value in record.items() if name != "kind"}
    ranges = {name: Range(**fields[name]) for name in ("asked", "range")}
    return ReprocessPlan(**{**fields, **ranges, "changes": tuple(Change(**change) for change in fields["changes"])})


def _state(project: Project, pipeline: Pipeline) -> StreamState:
    stream = Checkpoint(project.checkpoint(pipeline))
    lake = Checkpoint(project.checkpoint(project.pipeline(VISITS_LAKE)))
    committed = stream.committed_batches()
    commit = stream.commit(committed[-1]) if committed else None
    topic = pipeline.source_topic
    return StreamState(
        watermark_ms=commit.next_watermark_ms if commit else None,
        stream_read=_committed_ends(stream).get(topic, {}),
        lake_read=_committed_ends(lake).get(topic, {}),
    )


def _committed_ends(checkpoint: Checkpoint) -> KafkaOffsets:
    committed = checkpoint.committed_batches()
    return checkpoint.kafka_ends(committed[-1]) if committed else {}
