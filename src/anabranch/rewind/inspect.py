"""Plans a rewind: reads the checkpoint, Kafka, the sink and the lake, and refuses before anything moves. No Spark, no JVM."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from anabranch.checkpoint.checkpoint import Checkpoint
from anabranch.checkpoint.layout import RetainedOffsets
from anabranch.checkpoint.restartable import not_retained
from anabranch.errors import PERMISSION_DENIED, Failed, Reason
from anabranch.operations.change import SinkChange
from anabranch.operations.fence import not_finished, under_way
from anabranch.operations.log import new_operation_id
from anabranch.pipeline.definition import Pipeline
from anabranch.project.kafka import admin_of
from anabranch.project.lake import path_of
from anabranch.project.project import CheckpointRef, Project
from anabranch.rewind import messages
from anabranch.rewind.plan import Mode, RewindPlan, check_restartable, plan_rewind
from anabranch.rewind.target import Target, batch_for
from anabranch.storage.lease import holder_of
from anabranch.streaming.messages import SINK_UNKNOWN_LEFT
from anabranch.streaming.preflight import check_same_source, inspect_start
from anabranch.streaming.sinks import policy_of
from anabranch.streaming.sinks.base import RewoundBatches, leave
from anabranch.streaming.startable import StartFacts


@dataclass(frozen=True)
class RewindRequest:
    target: Target
    mode: Mode
    # The user's word that a query which is not ours is stopped: an idle one leaves no trace of running.
    stopped: bool
    checkpoint_only: bool


def plan(project: Project, ref: CheckpointRef, checkpoint: Checkpoint, request: RewindRequest) -> RewindPlan | None:
    """Refuses what is impossible, or would do harm, before anything moves; None: there is nothing to do."""
    _check_stopped(ref, request)
    if checkpoint.unreadable:
        raise PERMISSION_DENIED(path=f"{ref.location}/{checkpoint.unreadable[0]}")
    cannot = "it cannot be rewound"
    if (other := under_way(ref.location.storage(), cannot)) is not None:
        raise not_finished(other, cannot)
    batch = batch_for(checkpoint, request.target)
    if batch == checkpoint.next_batch and batch not in checkpoint.offsets:
        return None
    plan_it = _plan_foreign if ref.pipeline is None else _plan_ours
    made = plan_it(project, ref, checkpoint, request, batch)
    return None if made.is_empty else made


def _plan_foreign(
    _project: Project, ref: CheckpointRef, checkpoint: Checkpoint, request: RewindRequest, batch: int
) -> RewindPlan:
    """Of a query that is not ours nothing is known but its checkpoint."""
    verdict = check_restartable(checkpoint, batch, request.mode, None)
    if not request.checkpoint_only:
        raise messages.SINK_NOT_KNOWN(path=str(ref.location))
    notes = [messages.RETENTION_UNKNOWN(), *verdict.notes]
    sink = leave("none", SINK_UNKNOWN_LEFT())
    operation = new_operation_id("rewind")
    return plan_rewind(checkpoint, batch, request.mode, operation=operation, sink=sink, pipeline=None, notes=notes)


def _plan_ours(project: Project, ref: CheckpointRef, checkpoint: Checkpoint, request: RewindRequest, batch: int) -> RewindPlan:
    pipeline, admin, operation = ref.pipeline, admin_of(project), new_operation_id("rewind")
    assert pipeline is not None
    facts = inspect_start(project, pipeline, ref.location, admin)
    check_same_source(facts)
    retained: RetainedOffsets = facts.retained or {}
    in_lake = list(_in_the_lake(project, pipeline, checkpoint, batch, retained))
    verdict = check_restartable(checkpoint, batch, request.mode, retained, in_lake)
    sink = _plan_sink(facts, request, RewoundBatches(pipeline, checkpoint, batch, operation, admin))
    notes = [*_kafka_notes(retained), *_notes(project, facts, checkpoint, batch), *verdict.notes]
    return plan_rewind(checkpoint, batch, request.mode, operation=operation, sink=sink, pipeline=pipeline.name, notes=notes)


def _check_stopped(ref: CheckpointRef, request: RewindRequest) -> None:
    if ref.pipeline is not None:
        if (holder := holder_of(ref.location)) is not None:
            raise messages.PIPELINE_RUNS(pipeline=ref.pipeline.name, holder=holder.describe())
    elif ref.location.baseline.exists():
        raise messages.OURS_BY_PATH(path=str(ref.location), pipeline=ref.location.path.parent.name)
    elif not request.stopped:
        raise messages.MAYBE_RUNNING()


def _plan_sink(facts: StartFacts, request: RewindRequest, rewound: RewoundBatches) -> SinkChange:
    policy = policy_of(rewound.pipeline.sink)
    if request.checkpoint_only:
        return leave(policy.kind, policy.left_alone())
    for refused in policy.why_not_start(facts, None):
        raise refused
    return policy.plan_rewind(rewound)


def _in_the_lake(
    project: Project, pipeline: Pipeline, checkpoint: Checkpoint, batch: int, retained: RetainedOffsets
) -> Iterator[Reason]:
    """Where Kafka no longer has what the batch needs: whether the lake still has it."""
    start = checkpoint.start_of(batch)
    if not list(not_retained(start, retained)):
        return
    from anabranch.delta.lake import inspect_lake

    filling = project.lake_for(pipeline)
    try:
        lake = inspect_lake(path_of(filling)).offsets if filling is not None else None
    except Failed:
        lake = None
    if lake is None:
        yield messages.NO_LAKE_HAS_THEM()
        return
    for topic, partitions in start.items():
        for partition, offset in partitions.items():
            held = retained.get(topic, {}).get(partition)
            if held is None or offset >= held.earliest:
                continue
            first, end = lake.get(topic, {}).get(partition, (0, 0))
            about = {"topic": topic, "partition": partition, "first": offset, "last": held.earliest - 1}
            if first <= offset and end >= held.earliest:
                yield messages.LAKE_HAS_THEM(**about)
            else:
                yield messages.LAKE_LACKS_THEM(**about, held=f"{first} to {end - 1}" if end else "none of it")


def _kafka_notes(retained: RetainedOffsets) -> Iterator[Reason]:
    for topic, partitions in retained.items():
        ranges = [f"{partition}: {offsets.earliest}..{offsets.end}" for partition, offsets in sorted(partitions.items())]
        yield messages.KAFKA_RETAINS(topic=topic, ranges="  ".join(ranges))


def _notes(project: Project, facts: StartFacts, checkpoint: Checkpoint, batch: int) -> Iterator[Reason]:
    pipeline, before = facts.pipeline, facts.before
    if before is not None:
        yield from (messages.START_WILL_BE_REFUSED(difference=one) for one in before.setting_differences(facts.now))
        first = min((before.codes.get(code, batch + 1) for code in facts.now.codes), default=batch + 1)
        if before.codes and first > batch:
            yield messages.OTHER_CODE()
    entry = checkpoint.offset_entry(batch)
    if pipeline.takes_problems and project.is_own_sink(pipeline) and entry is not None:
        for operation in project.operations.all():
            if operation.kind in ("reprocess", "repair") and operation.begun_ms >= entry.timestamp_ms:
                yield messages.READ_BY_REPROCESS(operation=operation.id)
