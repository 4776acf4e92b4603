"""Which batches of a query stand, as they ran: by the checkpoint's own logs, and by the history where Spark has purged them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from anabranch.checkpoint.checkpoint import Checkpoint
from anabranch.checkpoint.figures import counting
from anabranch.checkpoint.history import BatchRecord, NewestEvent, newest_first
from anabranch.checkpoint.logged import logged
from anabranch.checkpoint.reader import read_logs
from anabranch.checkpoint.reconcile import counting_entry, record_of_logs
from anabranch.checkpoint.timeline import Timeline, TimelineBatch, timeline_of
from anabranch.storage.files import CheckpointLocation
from anabranch.text.format import utc_ms


@dataclass(frozen=True)
class Ran:
    """What a query has done with one topic, up to its newest committed batch."""

    query_id: str | None
    timeline: Timeline
    # Batch -> the greatest event time that it read, where its progress told.
    newest_events: dict[int, NewestEvent]
    # Batch -> the fingerprint of what its results follow from, where it was kept.
    codes: dict[int, str]
    # Batch -> when it was planned.
    planned_at: dict[int, str]
    # Batch -> when it was committed, where that was kept.
    committed_at: dict[int, str]


# Whether what is known up to this batch, going back in time, is enough.
Enough = Callable[[TimelineBatch], bool]


def read_ran(location: CheckpointLocation, topic: str, is_enough: Enough = lambda _: False) -> Ran | None:
    """None: no batch was committed, or nothing is known of the newest one. No more of the past is read than is asked for."""
    logs = read_logs(location.storage())
    newest_events: dict[int, NewestEvent] = {}
    codes: dict[int, str] = {}
    planned_at: dict[int, str] = {}
    committed_at: dict[int, str] = {}

    def batches() -> Iterator[TimelineBatch]:
        for record in _records(location, logs):
            ranges = logged(logs, record.batch).ranges if record.ranges is None else record.ranges
            if record.newest_event is not None:
                newest_events[record.batch] = record.newest_event
            if record.code is not None:
                codes[record.batch] = record.code
            planned_at[record.batch] = record.planned_at or record.at
            if record.committed_at is not None:
                committed_at[record.batch] = record.committed_at
            of_topic = None if ranges is None else dict(ranges.get(topic, {}))
            one = TimelineBatch(record.batch, _ms(record.watermark), of_topic)
            yield one
            if is_enough(one):
                return

    timeline = timeline_of(batches())
    return None if timeline is None else Ran(logs.query_id, timeline, newest_events, codes, planned_at, committed_at)


def _records(location: CheckpointLocation, logs: Checkpoint) -> Iterator[BatchRecord]:
    """Newest first, one of each committed batch. What the history lacks, the logs may have: a batch that has just ended."""
    committed = -1 if logs.commits.newest is None else logs.commits.newest
    expected, is_own = committed, counting_entry(location, logs).batch >= 0
    for entry in counting(newest_first(location)) if is_own else ():
        if entry.ran is not None and entry.batch <= committed:
            yield from _of_logs(logs, expected, entry.batch)
            yield entry.ran
            expected = entry.batch - 1
    yield from _of_logs(logs, expected, -1)


def _of_logs(logs: Checkpoint, newest: int, above: int) -> Iterator[BatchRecord]:
    for batch in range(newest, above, -1):
        if (record := record_of_logs(logs, batch)) is None:
            return
        yield record


def _ms(moment: str | None) -> int:
    """0: no watermark yet."""
    return 0 if moment is None else utc_ms(moment)
