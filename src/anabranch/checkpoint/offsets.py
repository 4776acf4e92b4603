"""What Kafka still holds, against what a checkpoint needs: Spark does not ask before it plans a batch (hazard N)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from anabranch.checkpoint.logs import KafkaOffsets


@dataclass(frozen=True)
class OffsetRange:
    """What a partition holds: the half-open range of offsets [earliest, end)."""

    earliest: int
    end: int


# Topic -> partition -> what it holds.
RetainedOffsets = Mapping[str, Mapping[int, OffsetRange]]


def not_retained(start: KafkaOffsets, reach: RetainedOffsets) -> Iterator[str]:
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


def lag_of(held: OffsetRange, read: int | None) -> int:
    """What is still to be read of a partition: all of it where nothing has been read yet."""
    return max(0, held.end - (held.earliest if read is None else read))
