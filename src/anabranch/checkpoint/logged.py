"""What a checkpoint's own logs tell of a batch: from where to where it read, when it was planned, under which watermark.

Whether or not the batch's event has come, this is the truth of it. None: the logs do not tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from anabranch.checkpoint.checkpoint import Checkpoint
from anabranch.checkpoint.sources import SourceRange
from anabranch.text.format import instant

# Topic -> partition -> [first, end) of what a batch has read, also of partitions in which it has read nothing.
Ranges = Mapping[str, Mapping[int, tuple[int, int]]]


@dataclass(frozen=True)
class Logged:
    ranges: Ranges | None
    planned_at: str | None
    watermark: str | None

    @property
    def records(self) -> int | None:
        """How many offsets it has read."""
        if self.ranges is None:
            return None
        return sum(end - first for partitions in self.ranges.values() for first, end in partitions.values())


def logged(checkpoint: Checkpoint, batch: int) -> Logged:
    planned = checkpoint.offset_entry(batch)
    if planned is None:
        return Logged(None, None, None)
    return Logged(_ranges(checkpoint, batch), instant(planned.timestamp_ms), instant(planned.watermark_ms))


def _ranges(checkpoint: Checkpoint, batch: int) -> Ranges | None:
    """None also: of a source that is not Kafka, and of one topic that is read twice."""
    if batch > 0 and checkpoint.offset_entry(batch - 1) is None:
        return None
    found: dict[str, dict[int, tuple[int, int]]] = {}
    for source in checkpoint.ranges(batch):
        ranges = _of_source(source)
        if ranges is None or ranges.keys() & found.keys():
            return None
        found |= ranges
    return found or None


def _of_source(source: SourceRange) -> dict[str, dict[int, tuple[int, int]]] | None:
    # Without rows: where it began is not known, or offsets went back.
    if source.kind != "kafka" or source.rows is None:
        return None
    # A partition that is new in this batch is read from its first record.
    return {
        topic: {int(partition): (source.start.get(topic, {}).get(partition, 0), end) for partition, end in ends.items()}
        for topic, ends in source.end.items()
    }
