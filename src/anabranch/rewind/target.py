"""From a time, an event time or a Kafka offset to the batch that is to run again (checkpoint-rewind.md, 7).

Looks from the newest batch down, so that only what is passed is read. Where the batch asked for may be older than the oldest
one kept, it says so instead of naming another.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from anabranch.checkpoint.checkpoint import Checkpoint
from anabranch.checkpoint.logs import parse_kafka_offsets
from anabranch.checkpoint.report import instant
from anabranch.errors import Misused, Refused


@dataclass(frozen=True)
class ToBatch:
    batch: int


@dataclass(frozen=True)
class ToTime:
    """The first batch that was planned at this time or later."""

    epoch_ms: int


@dataclass(frozen=True)
class ToEventTime:
    """The first batch that may hold events of this time or later; late ones can be in any batch."""

    epoch_ms: int
    # The delay of the watermark, which a checkpoint does not tell; None where the query has no watermark.
    delay_ms: int | None


@dataclass(frozen=True)
class ToOffset:
    """The batch that read this record."""

    topic: str
    partition: int
    offset: int


Target = ToBatch | ToTime | ToEventTime | ToOffset


def parse_offset_target(text: str) -> ToOffset:
    """TOPIC:PARTITION:OFFSET; a topic's name has no colon."""
    topic, _, rest = text.partition(":")
    partition, _, offset = rest.partition(":")
    if not topic or not partition.isdecimal() or not offset.isdecimal():
        raise Misused(f"{text!r} names no record.", "--to-offset TOPIC:PARTITION:OFFSET, such as visits:0:1200")
    return ToOffset(topic, int(partition), int(offset))


def batch_for(checkpoint: Checkpoint, target: Target) -> int:
    """Refuses where no batch fits, or the one that fits may be gone."""
    if not checkpoint.batches:
        raise Refused("no batch was ever planned here: there is nothing to rewind.")
    match target:
        case ToBatch(batch):
            return batch
        case ToTime(epoch_ms):
            return _by_time(checkpoint, epoch_ms)
        case ToEventTime(epoch_ms, delay_ms):
            return _by_event_time(checkpoint, epoch_ms, delay_ms)
        case ToOffset():
            return _by_offset(checkpoint, target)


def _by_time(checkpoint: Checkpoint, epoch_ms: int) -> int:
    found = _smallest(checkpoint.batches, lambda batch: _planned_ms(checkpoint, batch) >= epoch_ms)
    newest = checkpoint.batches[-1]
    if found is None:
        raise Refused(
            f"no batch was planned at {_time(epoch_ms)} or later: the newest, {newest}, was at"
            f" {_time(_planned_ms(checkpoint, newest))}.",
            f"--to-batch {newest}   takes the newest back",
        )
    if found == checkpoint.batches[0] and found > 0 and _planned_ms(checkpoint, found) > epoch_ms:
        raise _older(checkpoint, f"the first batch planned at {_time(epoch_ms)} or later")
    return found


def _by_event_time(checkpoint: Checkpoint, epoch_ms: int, delay_ms: int | None) -> int:
    if delay_ms is None:
        raise Refused(
            "without a watermark no batch can be told by event time.",
            "--to-time goes by when a batch was planned, --to-offset by a record",
        )
    numbers = sorted(checkpoint.commits.sizes)
    found = _smallest(numbers, lambda batch: _latest_event_ms(checkpoint, batch, delay_ms) >= epoch_ms)
    newest = checkpoint.batches[-1]
    if found is None:
        if newest not in checkpoint.commits:
            # Planned and not finished: what it holds nobody has seen yet.
            return newest
        latest_ms = _latest_event_ms(checkpoint, newest, delay_ms)
        raise Refused(
            f"no batch holds events of {_time(epoch_ms)} or later: the latest seen is of {_time(latest_ms)}.",
            f"--to-batch {newest}   takes the newest back",
        )
    if found == numbers[0] and found > 0:
        raise _older(checkpoint, f"the first batch with events of {_time(epoch_ms)} or later")
    return found


def _by_offset(checkpoint: Checkpoint, target: ToOffset) -> int:
    newest = checkpoint.batches[-1]
    end = _end(checkpoint, newest, target)
    if end is None:
        raise Refused(
            f"this checkpoint does not read {target.topic} partition {target.partition}.",
            "anabranch checkpoint shows what it reads",
        )
    if end <= target.offset:
        raise Refused(
            f"offset {target.offset} of {target.topic} partition {target.partition} has not been read yet:"
            f" the newest batch ends before {end}.",
        )
    found = _smallest(checkpoint.batches, lambda batch: (_end(checkpoint, batch, target) or 0) > target.offset)
    assert found is not None
    if found == checkpoint.batches[0] and found > 0:
        raise _older(checkpoint, f"the batch that read offset {target.offset}")
    return found


def _smallest(numbers: list[int], fits: Callable[[int], bool]) -> int | None:
    """The first of those at the end that all fit: what is asked grows with the batches."""
    found = None
    for number in reversed(numbers):
        if not fits(number):
            break
        found = number
    return found


def _older(checkpoint: Checkpoint, what: str) -> Refused:
    oldest = checkpoint.batches[0]
    return Refused(
        f"{what} may be gone: the oldest batch kept is {oldest}, planned {_time(_planned_ms(checkpoint, oldest))}.",
        "anabranch checkpoint --all shows which batches are possible",
        "anabranch reprocess recomputes windows from the lake instead",
    )


def _planned_ms(checkpoint: Checkpoint, batch: int) -> int:
    entry = checkpoint.offset_entry(batch)
    return entry.timestamp_ms if entry else 0


def _latest_event_ms(checkpoint: Checkpoint, batch: int, delay_ms: int) -> int:
    """The latest event that was seen up to this batch, as its watermark tells; 0: none yet."""
    commit = checkpoint.commit_entry(batch)
    return commit.next_watermark_ms + delay_ms if commit and commit.next_watermark_ms > 0 else 0


def _end(checkpoint: Checkpoint, batch: int, target: ToOffset) -> int | None:
    entry = checkpoint.offset_entry(batch)
    found = [parse_kafka_offsets(text) or {} for text in entry.sources] if entry else []
    ends = [held.get(target.topic, {}).get(target.partition) for held in found]
    return max((end for end in ends if end is not None), default=None)


def _time(epoch_ms: int) -> str:
    return instant(epoch_ms) or "an unknown time"
