"""What must hold before a query starts on a checkpoint. Asked of Kafka, because Spark does not ask (hazard N)."""

from __future__ import annotations

from pathlib import Path

from anabranch.core.errors import Refused
from anabranch.core.pipeline import Pipeline, Topic
from anabranch.core.reach import out_of_reach
from anabranch.world.checkpoints import Checkpoint
from anabranch.world.facts import CheckpointFacts, read_facts, write_facts
from anabranch.world.topics import TopicInfo, Topics


def check_start(pipeline: Pipeline, checkpoint: Path, topics: Topics, shuffle_partitions: str) -> None:
    """Refuses where the checkpoint is of something else, or Kafka does not hold what the next batch needs."""
    reach = topics.reach(pipeline.source_topic)
    topic_id = topics.topic_id(pipeline.source_topic)
    now = CheckpointFacts(pipeline.source_topic, topic_id, pipeline.window_s, pipeline.watermark_s, shuffle_partitions)
    _check_facts(pipeline, checkpoint, now)
    start = Checkpoint(checkpoint).next_start()
    if gone := list(out_of_reach(start, {pipeline.source_topic: reach})):
        raise Refused(
            f"{pipeline.name} cannot go on where it stopped, and nothing was skipped: {'; '.join(gone)}.",
            _set_aside(checkpoint),
        )
    write_facts(checkpoint, now)


def _check_facts(pipeline: Pipeline, checkpoint: Path, now: CheckpointFacts) -> None:
    before = read_facts(checkpoint) if Checkpoint(checkpoint).exists() else None
    if before is not None and (differences := list(before.differences(now))):
        raise Refused(
            f"{pipeline.name} cannot go on with this checkpoint: {'; '.join(differences)}.",
            "set it as it was, in anabranch.toml or on the command line",
            _set_aside(checkpoint),
        )


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
