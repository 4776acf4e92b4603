"""Plans a rewind: asks the checkpoint, Kafka, the sink and the lake, and refuses before anything moves. No Spark, no JVM."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.checkpoint.baseline import baseline_path, read_baseline
from anabranch.checkpoint.checkpoint import Checkpoint
from anabranch.checkpoint.lease import holder_of
from anabranch.checkpoint.offsets import RetainedOffsets, not_retained
from anabranch.checkpoint.starts import start_of
from anabranch.errors import Failed, Misused, Refused
from anabranch.operations.change import SinkPart
from anabranch.operations.fence import refusal, under_way
from anabranch.operations.log import new_operation_id, operations
from anabranch.pipeline.definition import Pipeline, Table
from anabranch.project.checkpoints import CheckpointRef
from anabranch.project.project import Project
from anabranch.rewind.plan import (
    Mode,
    RewindPlan,
    check_restartable,
    plan_rewind,
)
from anabranch.rewind.sinks import left_alone, refuse_unknown, sink_part
from anabranch.rewind.target import Target, batch_for
from anabranch.storage.local import DirectoryStorage
from anabranch.streaming.code_fingerprint import code_fingerprint

if TYPE_CHECKING:
    from anabranch.kafka.admin import Topics


@dataclass(frozen=True)
class RewindRequest:
    target: Target
    mode: Mode
    # Said by the user of a query that is not ours: an idle one leaves no trace of running.
    stopped: bool
    checkpoint_only: bool


def plan(project: Project, ref: CheckpointRef, checkpoint: Checkpoint, wish: RewindRequest) -> RewindPlan | None:
    """Refuses what is impossible, or would do harm, before anything moves; None: there is nothing to do."""
    _check_quiet(ref, wish)
    if (other := under_way(DirectoryStorage(ref.path))) is not None:
        raise refusal(other, "it cannot be rewound")
    operation = new_operation_id("rewind")
    batch = batch_for(checkpoint, wish.target)
    if batch == checkpoint.next_batch and batch not in checkpoint.offsets:
        return None
    pipeline = ref.pipeline
    if pipeline is None:
        verdict = check_restartable(checkpoint, batch, wish.mode, None)
        if not wish.checkpoint_only:
            raise refuse_unknown(str(ref.path))
        sink: SinkPart = left_alone(None)
        notes = ["whether the source still has the data was not asked: it is not known which Kafka this query reads"]
    else:
        # As in subject.py: loaded where Kafka is asked.
        from anabranch.project.cluster import topics_of

        topics = topics_of(project)
        held: RetainedOffsets = {pipeline.source_topic: topics.reach(pipeline.source_topic)}
        _check_same_topic(pipeline, ref.path, topics)
        verdict = check_restartable(checkpoint, batch, wish.mode, held, list(_in_the_lake(project, checkpoint, batch, held)))
        is_left = wish.checkpoint_only
        sink = left_alone(pipeline) if is_left else sink_part(pipeline, checkpoint, batch, operation, topics)
        notes = [*_kafka_notes(held), *_notes(project, pipeline, ref.path, checkpoint, batch)]
    made = plan_rewind(
        checkpoint, batch, wish.mode, operation=operation, sink=sink,
        pipeline=pipeline.name if pipeline else None, notes=[*notes, *verdict.notes],
    )  # fmt: skip
    return None if made.is_empty else made


def _check_quiet(ref: CheckpointRef, wish: RewindRequest) -> None:
    if ref.pipeline is not None:
        if (holder := holder_of(ref.path)) is not None:
            name = ref.pipeline.name
            raise Refused(
                f"{name} runs: {holder.describe()}.", f"anabranch stop {name}   ends it after its batch", "then rewind"
            )
    elif baseline_path(ref.path).exists():
        raise Misused(
            f"{ref.path} is the checkpoint of a pipeline: named by its path its sink would stay behind.",
            f"anabranch rewind {ref.path.parent.name} ...   in its project, with --to if it is not its own sink",
        )
    elif not wish.stopped:
        raise Refused(
            "this checkpoint has no lease of ours: a busy query would be found by its log and by the fence, an idle one by"
            " neither, and would write on past the rewind.",
            "stop the query, make sure that its driver is gone, and say so: --stopped",
        )


def _check_same_topic(pipeline: Pipeline, checkpoint: Path, topics: Topics) -> None:
    facts = read_baseline(checkpoint)
    if facts is not None and facts.topic_id != topics.topic_id(pipeline.source_topic):
        raise Refused(
            f"{pipeline.source_topic} was deleted and made again: under the same offsets lie other records now.",
            f"to begin anew with what Kafka has, set the checkpoint aside: mv {checkpoint} {checkpoint}.old",
        )


def _in_the_lake(project: Project, checkpoint: Checkpoint, batch: int, held: RetainedOffsets) -> Iterator[str]:
    """Where Kafka has lost what the batch needs: whether the lake still has it."""
    start = start_of(checkpoint, batch)
    if not list(not_retained(start, held)):
        return
    from anabranch.delta.lake import inspect_lake

    try:
        lake = inspect_lake(project.lake).offsets
    except Failed:
        yield "there is no lake that would have these records"
        return
    for topic, partitions in start.items():
        for partition, offset in partitions.items():
            reach = held.get(topic, {}).get(partition)
            if reach is None or offset >= reach.earliest:
                continue
            first, end = lake.get(topic, {}).get(partition, (0, 0))
            has_all = first <= offset and end >= reach.earliest
            which = f"offsets {offset} to {reach.earliest - 1} of {topic} partition {partition}"
            yield (
                f"the lake still has {which}: anabranch reprocess recomputes windows from it"
                if has_all
                else f"the lake does not have all of {which} either: it holds {first} to {end - 1}"
            )


def _kafka_notes(held: RetainedOffsets) -> Iterator[str]:
    for topic, partitions in held.items():
        parts = "  ".join(f"{partition}: {reach.earliest}..{reach.end}" for partition, reach in sorted(partitions.items()))
        yield f"Kafka holds {topic}  {parts}"


def _notes(project: Project, pipeline: Pipeline, path: Path, checkpoint: Checkpoint, batch: int) -> Iterator[str]:
    facts = read_baseline(path)
    if facts is not None:
        now = replace(facts, window_s=pipeline.window_s, watermark_s=pipeline.watermark_s)
        yield from (f"{difference}: a start will be refused" for difference in facts.differences(now))
        first = facts.codes.get(code_fingerprint(pipeline))
        if facts.codes and (first is None or first > batch):
            yield "batches that are taken back were computed by another version of the pipeline's code: results may differ"
    entry = checkpoint.offset_entry(batch)
    if pipeline.sink == Table(str(project.lake)) and entry is not None:
        for operation in operations(project):
            if operation.kind == "reprocess" and operation.begun_ms >= entry.timestamp_ms:
                yield f"{operation.id} has read rows of the lake that are taken out now; the results that it sent stay"
