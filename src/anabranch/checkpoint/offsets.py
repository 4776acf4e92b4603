"""Offsets of Kafka: what a topic still retains, where a batch begins, how far a checkpoint has read.

Spark does not compare the first with the second before it plans a batch (docs/internals/hazards.md, N).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from anabranch.checkpoint import messages
from anabranch.checkpoint.checkpoint import Checkpoint
from anabranch.checkpoint.logs import KafkaOffsets, parse_kafka_offsets
from anabranch.errors import Reason


@dataclass(frozen=True)
class OffsetRange:
    """What a partition retains: the half-open range of offsets [earliest, end)."""

    earliest: int
    end: int

    @property
    def count(self) -> int:
        return self.end - self.earliest


# Topic -> partition -> what it retains.
RetainedOffsets = Mapping[str, Mapping[int, OffsetRange]]


def not_retained(start: KafkaOffsets, retained: RetainedOffsets) -> Iterator[Reason]:
    """Each partition whose next offset Kafka does not have."""
    for topic, partitions in start.items():
        for partition, offset in partitions.items():
            held = retained.get(topic, {}).get(partition)
            where = {"topic": topic, "partition": partition}
            if held is None:
                yield messages.PARTITION_GONE(**where)
            elif offset < held.earliest:
                yield messages.OFFSETS_EXPIRED(**where, first=offset, last=held.earliest - 1)
            elif offset > held.end:
                yield messages.OFFSETS_BEYOND_END(**where, end=held.end, offset=offset)


def lag_of(retained: OffsetRange, read: int | None) -> int:
    """What is still to be read of a partition: all of it where nothing has been read yet."""
    return max(0, retained.end - (retained.earliest if read is None else read))


def start_of(checkpoint: Checkpoint, batch: int) -> KafkaOffsets:
    """The end of the batch before it; for batch 0 where its sources began."""
    if batch == 0:
        entry = checkpoint.offset_entry(0)
        texts = entry.sources if entry else ("",)
        return _kafka([checkpoint.initial(place, texts) for place in range(len(texts))])
    before = checkpoint.offset_entry(batch - 1)
    return _kafka(before.sources if before else ())


def read_so_far(checkpoint: Checkpoint) -> KafkaOffsets:
    """The end of the newest planned batch."""
    return end_of(checkpoint, checkpoint.newest)


def committed_so_far(checkpoint: Checkpoint) -> KafkaOffsets:
    """The end of the newest committed batch."""
    return end_of(checkpoint, checkpoint.commits.newest)


def end_of(checkpoint: Checkpoint, batch: int | None) -> KafkaOffsets:
    entry = checkpoint.offset_entry(batch) if batch is not None else None
    return _kafka(entry.sources if entry else ())


def _kafka(texts: Sequence[str | None]) -> KafkaOffsets:
    found: dict[str, dict[int, int]] = {}
    for text in texts:
        for topic, held in (parse_kafka_offsets(text) or {}).items():
            found.setdefault(topic, {}).update(held)
    return found
