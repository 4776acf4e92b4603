"""From a time, an event time or a Kafka offset to the batch that is to run again (docs/internals/checkpoints.md).

Goes from the newest batch down, so that only the batches on the way are read. Where the batch asked for may be older than the
oldest one kept, it says so instead of naming another.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from anabranch.checkpoint.checkpoint import Checkpoint
from anabranch.checkpoint.layout import parse_kafka_offsets
from anabranch.errors import Reason, Refused
from anabranch.pipeline.definition import Pipeline
from anabranch.rewind import messages
from anabranch.text.format import instant, parse_duration_s, parse_instant


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


@dataclass(frozen=True)
class TargetOptions:
    """The options that name a target, as they were typed."""

    to_batch: int | None
    to_time: str | None
    to_event_time: str | None
    to_offset: str | None
    delay: str | None


def parse_target(options: TargetOptions, zone: str, pipeline: Pipeline | None) -> Target:
    """`zone`: of times that name none. `pipeline`: whose watermark delay holds unless another is given."""

    def epoch_ms(text: str) -> int:
        return round(parse_instant(text, zone).timestamp() * 1000)

    given = (options.to_batch, options.to_time, options.to_event_time, options.to_offset)
    count = sum(value is not None for value in given)
    if count != 1:
        raise messages.NO_TARGET() if count == 0 else messages.TWO_TARGETS()
    if options.to_batch is not None:
        return ToBatch(options.to_batch)
    if options.to_time is not None:
        return ToTime(epoch_ms(options.to_time))
    if options.to_offset is not None:
        return _parse_offset(options.to_offset)
    assert options.to_event_time is not None
    if options.delay is None and pipeline is None:
        raise messages.DELAY_UNKNOWN()
    delay_s = parse_duration_s(options.delay) if options.delay is not None else pipeline.watermark_s if pipeline else None
    return ToEventTime(epoch_ms(options.to_event_time), None if delay_s is None else round(delay_s * 1000))


def _parse_offset(text: str) -> ToOffset:
    """TOPIC:PARTITION:OFFSET; a topic's name has no colon."""
    topic, _, rest = text.partition(":")
    partition, _, offset = rest.partition(":")
    if not topic or not partition.isdecimal() or not offset.isdecimal():
        raise messages.OFFSET_MALFORMED(text=text)
    return ToOffset(topic, int(partition), int(offset))


def batch_for(checkpoint: Checkpoint, target: Target) -> int:
    """Refuses where no batch fits, or the one that fits may be gone."""
    if not checkpoint.batches:
        raise messages.NOTHING_PLANNED()
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
        raise messages.NO_BATCH_AT(time=_time(epoch_ms), newest=newest, planned=_time(_planned_ms(checkpoint, newest)))
    if found == checkpoint.batches[0] and found > 0 and _planned_ms(checkpoint, found) > epoch_ms:
        raise _older(checkpoint, messages.FIRST_PLANNED_AT(time=_time(epoch_ms)))
    return found


def _by_event_time(checkpoint: Checkpoint, epoch_ms: int, delay_ms: int | None) -> int:
    if delay_ms is None:
        raise messages.NO_WATERMARK()
    numbers = sorted(checkpoint.commits.sizes)
    found = _smallest(numbers, lambda batch: _latest_event_ms(checkpoint, batch, delay_ms) >= epoch_ms)
    newest = checkpoint.batches[-1]
    if found is None:
        if newest not in checkpoint.commits:
            # Planned and not committed: what it holds is not known yet.
            return newest
        latest_ms = _latest_event_ms(checkpoint, newest, delay_ms)
        raise messages.NO_BATCH_WITH(time=_time(epoch_ms), latest=_time(latest_ms), newest=newest)
    if found == numbers[0] and found > 0:
        raise _older(checkpoint, messages.FIRST_WITH_EVENTS(time=_time(epoch_ms)))
    return found


def _by_offset(checkpoint: Checkpoint, target: ToOffset) -> int:
    newest = checkpoint.batches[-1]
    end = _end(checkpoint, newest, target)
    if end is None:
        raise messages.TOPIC_NOT_READ(topic=target.topic, partition=target.partition)
    if end <= target.offset:
        raise messages.OFFSET_NOT_READ(offset=target.offset, topic=target.topic, partition=target.partition, end=end)
    found = _smallest(checkpoint.batches, lambda batch: (_end(checkpoint, batch, target) or 0) > target.offset)
    assert found is not None
    if found == checkpoint.batches[0] and found > 0:
        raise _older(checkpoint, messages.BATCH_OF_OFFSET(offset=target.offset))
    return found


def _smallest(numbers: list[int], fits: Callable[[int], bool]) -> int | None:
    """The first of those at the end that all fit: what is asked grows with the batches."""
    found = None
    for number in reversed(numbers):
        if not fits(number):
            break
        found = number
    return found


def _older(checkpoint: Checkpoint, what: Reason) -> Refused:
    oldest = checkpoint.batches[0]
    return messages.TARGET_PURGED(what=what, oldest=oldest, planned=_time(_planned_ms(checkpoint, oldest)))


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
