"""Where a batch begins, and how far a checkpoint has read: of its Kafka sources alone."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.checkpoint.checkpoint import Checkpoint
from anabranch.checkpoint.logs import KafkaOffsets, parse_kafka_offsets


def start_of(checkpoint: Checkpoint, batch: int) -> KafkaOffsets:
    """The end of the batch before it; of batch 0 where its sources began."""
    if batch == 0:
        entry = checkpoint.offset_entry(0)
        texts = entry.sources if entry else ("",)
        return _kafka([checkpoint.initial(place, texts) for place in range(len(texts))])
    before = checkpoint.offset_entry(batch - 1)
    return _kafka(before.sources if before else ())


def read_so_far(checkpoint: Checkpoint) -> KafkaOffsets:
    """The end of the newest planned batch."""
    entry = checkpoint.offset_entry(checkpoint.newest) if checkpoint.newest is not None else None
    return _kafka(entry.sources if entry else ())


def _kafka(texts: Sequence[str | None]) -> KafkaOffsets:
    found: dict[str, dict[int, int]] = {}
    for text in texts:
        for topic, held in (parse_kafka_offsets(text) or {}).items():
            found.setdefault(topic, {}).update(held)
    return found
