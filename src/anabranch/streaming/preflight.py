"""What must hold before a query starts on a checkpoint. Asked of Kafka, because Spark does not ask (hazard N)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from anabranch.checkpoint.baseline import Baseline, read_baseline, write_baseline
from anabranch.checkpoint.log_reader import Checkpoint
from anabranch.checkpoint.offsets import not_retained
from anabranch.errors import Refused
from anabranch.kafka.admin import TopicInfo, Topics
from anabranch.operations.fence import check_not_fenced
from anabranch.pipeline.definition import Pipeline, Topic
from anabranch.streaming.code_fingerprint import code_fingerprint


def check_start(pipeline: Pipeline, checkpoint: Path, topics: Topics, shuffle_partitions: str) -> None:
    """Refuses where the checkpoint is of something else, or Kafka does not hold what the next batch needs."""
    reach = topics.reach(pipeline.source_topic)
    topic_id = topics.topic_id(pipeline.source_topic)
    now = Baseline(pipeline.source_topic, topic_id, pipeline.window_s, pipeline.watermark_s, shuffle_partitions)
    # Spark would fail on the fence too, in words that say nothing of it.
    check_not_fenced(checkpoint, f"{pipeline.name} cannot start")
    codes = _check_facts(pipeline, checkpoint, now)
    start = Checkpoint(checkpoint).next_start()
    if gone := list(not_retained(start, {pipeline.source_topic: reach})):
        raise Refused(
            f"{pipeline.name} cannot go on where it stopped, and nothing was skipped: {'; '.join(gone)}.",
            _set_aside(checkpoint),
        )
    write_baseline(checkpoint, replace(now, codes={code_fingerprint(pipeline): _next_batch(checkpoint), **codes}))


def _next_batch(checkpoint: Path) -> int:
    planned, committed = Checkpoint(checkpoint).planned_batches(), Checkpoint(checkpoint).committed_batches()
    return 0 if not planned else planned[-1] + (planned[-1] in committed)


def _check_facts(pipeline: Pipeline, checkpoint: Path, now: Baseline) -> Mapping[str, int]:
    """Refuses what does not fit; the codes that ran on it so far."""
    before = read_baseline(checkpoint) if Checkpoint(checkpoint).exists() else None
    if before is not None and (differences := list(before.differences(now))):
        raise Refused(
            f"{pipeline.name} cannot go on with this checkpoint: {'; '.join(differences)}.",
            "set it as it was, in anabranch.toml or on the command line",
            _set_aside(checkpoint),
        )
    return before.codes if before else {}


def _set_aside(checkpoint: Path) -> str:
    return f"to begin anew with what Kafka has, set the checkpoint aside: mv {checkpoint} {checkpoint}.old"


def create_result_topic(pipeline: Pipeline, topics: Topics) -> TopicInfo | None:
    """A run makes the topic that it writes to, as wide as the one that it reads. None if it was there."""
    existing = {topic.name: topic for topic in topics.all()}
    if not isinstance(pipeline.sink, Topic) or pipeline.sink.name in existing:
        return None
    partitions = existing[pipeline.source_topic].partitions
    topics.create(pipeline.sink.name, partitions)
    return TopicInfo(pipeline.sink.name, partitions)
