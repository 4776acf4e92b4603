"""What must hold before a query starts on a checkpoint. Asked of Kafka, because Spark does not ask (hazard N)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from anabranch.core.checkpoint_log import KafkaOffsets
from anabranch.core.errors import Refused
from anabranch.core.pipeline import Pipeline
from anabranch.world.checkpoints import Checkpoint
from anabranch.world.topics import Reach, Topics


def check_start(pipeline: Pipeline, checkpoint: Path, topics: Topics) -> None:
    """Refuses where the topic is missing, or does not hold what the next batch needs."""
    reach = topics.reach(pipeline.source_topic)
    start = Checkpoint(checkpoint).next_start()
    if gone := list(out_of_reach(start, {pipeline.source_topic: reach})):
        raise Refused(
            f"{pipeline.name} cannot go on where it stopped, and nothing was skipped: {'; '.join(gone)}.",
            f"to begin anew with what Kafka has, set the checkpoint aside: mv {checkpoint} {checkpoint}.old",
        )


def out_of_reach(start: KafkaOffsets, reach: Mapping[str, Mapping[int, Reach]]) -> Iterator[str]:
    """In words, each partition whose next offset Kafka does not hold."""
    for topic, partitions in start.items():
        for partition, offset in partitions.items():
            held = reach.get(topic, {}).get(partition)
            if held is None:
                yield f"{topic} has no partition {partition} any more"
            elif offset < held.earliest:
                yield f"{topic} partition {partition}: offsets {offset} to {held.earliest - 1} are no longer in Kafka"
            elif offset > held.end:
                yield (
                    f"{topic} partition {partition} ends at {held.end}, the checkpoint is at {offset}:"
                    " it is another topic under the same name"
                )
