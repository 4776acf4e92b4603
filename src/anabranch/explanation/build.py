"""From what was read of a window to what is told of it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from anabranch.audit.verdict import ClosedBy
from anabranch.audit.windows import needed_delay_ms
from anabranch.checkpoint.timeline import Timeline
from anabranch.delta.stored import Newest, StoredRecord
from anabranch.explanation import messages
from anabranch.explanation.report import (
    BatchShare,
    CorrectedBy,
    DroppedRecord,
    Explanation,
    KeyResult,
    PartitionNews,
    State,
    Waits,
)
from anabranch.pipeline.definition import Pipeline
from anabranch.pipeline.windows import windows_of
from anabranch.text.format import instant, iso_utc


@dataclass(frozen=True)
class Counts:
    """Of the window's records."""

    # Batch -> records. Those that no batch has read yet are of the one behind the newest.
    usable: Mapping[int, int]
    # None: not counted.
    problems: Mapping[int, int] | None
    # Those that batches before the oldest have read.
    earlier: int
    earlier_problems: int
    # Usable ones that came after the newest correction.
    since_correction: int


@dataclass(frozen=True)
class Seen:
    """A window, the batches that stand, and what was found of its records."""

    start_ms: int
    timeline: Timeline
    # Batch -> when.
    planned_at: Mapping[int, str]
    committed_at: Mapping[int, str]
    lake_version: int
    # Batches whose records were not in the lake yet.
    behind: int
    delay_ms: int
    counts: Counts
    # The first of the late ones.
    late: Sequence[StoredRecord]
    closed_by: ClosedBy | None
    # With which the next batch will run. None: not known.
    next_watermark_ms: int | None
    # Of each partition of the lake, where the window is open.
    newest: Sequence[Newest]
    corrections: Sequence[CorrectedBy]
    key: str | None = None
    result: KeyResult | None = None


def explanation_of(pipeline: Pipeline, seen: Seen) -> Explanation:
    timeline, counts = seen.timeline, seen.counts
    end_ms = seen.start_ms + windows_of(pipeline).length_ms
    state = state_of(timeline, end_ms)
    usable = sum(counts.usable.values()) + counts.earlier
    unread = counts.usable.get(timeline.last + 1, 0)
    late = _late(seen, end_ms) if state == "closed" else 0
    return Explanation(
        pipeline=pipeline.name,
        start=iso_utc(seen.start_ms),
        end=iso_utc(end_ms),
        key=seen.key,
        state=state,
        output_mode=pipeline.output_mode,
        watermark=instant(timeline.watermark_ms),
        delay_s=seen.delay_ms / 1000,
        lake_version=seen.lake_version,
        first_batch=timeline.first,
        last_batch=timeline.last,
        behind=seen.behind,
        usable=usable,
        problems=None if counts.problems is None else sum(counts.problems.values()) + counts.earlier_problems,
        counted=None if state == "unknown" else usable - late if state == "closed" else usable - unread,
        late=None if state == "unknown" else late,
        unread=unread,
        earlier=counts.earlier,
        batches=tuple(_shares(seen, state, end_ms)),
        late_records=tuple(_dropped(one, pipeline, seen, end_ms) for one in seen.late),
        closed_by=seen.closed_by,
        closed_at=None if seen.closed_by is None else _ended_at(seen, seen.closed_by.batch),
        waits=_waits(seen, end_ms) if state == "open" else None,
        corrections=tuple(seen.corrections),
        since_correction=counts.since_correction if seen.corrections else None,
        result=seen.result,
        notes=(messages.LAKE_NOT_SO_FAR(batches=seen.behind, last=timeline.last),) if seen.behind else (),
    )


def state_of(timeline: Timeline, window_end_ms: int) -> State:
    if not timeline.is_known(window_end_ms):
        return "unknown"
    return "closed" if timeline.is_closed(window_end_ms) else "open"


def _ended_at(seen: Seen, batch: int) -> str | None:
    return seen.committed_at.get(batch) or seen.planned_at.get(batch)


def _late(seen: Seen, end_ms: int) -> int:
    """Also those that the stream will drop once it reads them."""
    closing = seen.timeline.closing_batch(end_ms)
    return sum(count for batch, count in seen.counts.usable.items() if closing is not None and batch >= closing)


def _shares(seen: Seen, state: State, end_ms: int) -> Iterator[BatchShare]:
    """A batch drops all records of a window, or none."""
    counts, closing = seen.counts, seen.timeline.closing_batch(end_ms)
    problems = counts.problems or {}
    for batch in sorted(number for number in counts.usable.keys() | problems.keys() if number <= seen.timeline.last):
        records, is_late = counts.usable.get(batch, 0), closing is not None and batch >= closing
        yield BatchShare(
            batch=batch,
            planned_at=seen.planned_at.get(batch),
            committed_at=seen.committed_at.get(batch),
            counted=None if state == "unknown" else 0 if is_late else records,
            late=None if state == "unknown" else records if is_late else 0,
            problems=None if counts.problems is None else problems.get(batch, 0),
        )


def _dropped(one: StoredRecord, pipeline: Pipeline, seen: Seen, end_ms: int) -> DroppedRecord:
    """Of windows that overlap another one may have dropped it first: this is about the one that is explained."""
    timeline, unit_ms = seen.timeline, windows_of(pipeline).delay_unit_ms(seen.delay_ms)
    batch = timeline.batch_of(one.partition, one.offset)
    watermark_ms = timeline.dropping_watermark_ms(timeline.last + 1 if batch is None else batch)
    late_by_ms = watermark_ms - end_ms
    return DroppedRecord(
        record=f"{pipeline.topic.name}:{one.partition}:{one.offset}",
        event_time=iso_utc(one.event_us // 1000),
        arrived=iso_utc(round(one.record_time.timestamp() * 1000)),
        late_by_s=late_by_ms / 1000,
        needed_delay_s=needed_delay_ms(late_by_ms + seen.delay_ms, unit_ms) / 1000,
        batch=None if batch is None or batch > timeline.last else batch,
        watermark=iso_utc(watermark_ms),
    )


def _waits(seen: Seen, end_ms: int) -> Waits:
    closing_ms = end_ms + seen.delay_ms
    is_due = seen.next_watermark_ms is not None and seen.next_watermark_ms >= end_ms
    read, found = seen.timeline.read, {one.partition: one for one in seen.newest}
    unread = [
        one.partition
        for one in seen.newest
        if one.event_us is not None and one.event_us // 1000 >= closing_ms and one.offset >= read.get(one.partition, 0)
    ]
    partitions = sorted(read.keys() | found.keys())
    arrived_ms = max((_arrived_ms(one) for one in seen.newest), default=0)
    news = tuple(_news(partition, found.get(partition), end_ms, arrived_ms) for partition in partitions)
    return Waits(iso_utc(closing_ms), is_due, () if is_due else tuple(unread), news)


def _news(partition: int, newest: Newest | None, end_ms: int, newest_arrival_ms: int) -> PartitionNews:
    """`newest_arrival_ms`: in any partition."""
    event_ms = None if newest is None or newest.event_us is None else newest.event_us // 1000
    return PartitionNews(
        partition=partition,
        newest_event=None if event_ms is None else iso_utc(event_ms),
        newest_arrival=None if newest is None else iso_utc(_arrived_ms(newest)),
        silent_s=None if newest is None else (newest_arrival_ms - _arrived_ms(newest)) / 1000,
        is_behind=event_ms is None or event_ms < end_ms,
    )


def _arrived_ms(one: Newest) -> int:
    return round(one.record_time.timestamp() * 1000)
