"""Completes a history from the checkpoint's own logs: a batch whose event was lost, by a kill or by Spark, does not vanish.

The logs are the truth about which batches ran. What only the event could tell is not known, and says so.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate, islice

from anabranch.checkpoint.checkpoint import Checkpoint
from anabranch.checkpoint.history import (
    EMPTY,
    BatchRecord,
    HistoryEntry,
    append_entries,
    entry_after,
    entry_below,
    newest_entry,
    newest_first,
)
from anabranch.checkpoint.logged import logged
from anabranch.storage.files import CheckpointLocation
from anabranch.text.format import instant, iso_utc, parse_instant

# So many lines go to the disk at once: a start that is killed meanwhile continues behind them.
_LINES_AT_ONCE = 1000
# A batch's event has its time to the millisecond, at the begin of its trigger: what ended before its plan is another batch.
_SLACK_MS = 1000
# The operation of an entry that says: what is above it was of another query, whose checkpoint is gone.
CHECKPOINT_REPLACED = "checkpoint-replaced"


def reconcile(location: CheckpointLocation, checkpoint: Checkpoint, below: int | None = None) -> int:
    """Appends what the history lacks of the committed batches, all or those below one. The newest batch that it has then."""
    newest, known = newest_entry(location), counting_entry(location, checkpoint)
    replaced: list[HistoryEntry] = []
    if newest is not None and newest != known:
        known = replace(known, ran=None, operation=CHECKPOINT_REPLACED, undoes=None)
        replaced = [known]
    lacking = _records(checkpoint, known.batch + 1, _committed(checkpoint) + 1 if below is None else below)
    while (records := list(islice(lacking, _LINES_AT_ONCE))) or replaced:
        entries = list(accumulate(records, entry_after, initial=known))[1:]
        # In one write: without what follows it such an entry would say that nothing is known.
        append_entries(location, [*replaced, *entries])
        known, replaced = [known, *entries][-1], []
    return known.batch


def counting_entry(location: CheckpointLocation, checkpoint: Checkpoint) -> HistoryEntry:
    """The newest entry that is of this checkpoint: one that was moved away by hand left a history of other batches."""
    found = entry_below(newest_first(location), _committed(checkpoint) + 1)
    return found if _is_of(found, checkpoint) else EMPTY


def _committed(checkpoint: Checkpoint) -> int:
    return -1 if checkpoint.commits.newest is None else checkpoint.commits.newest


def _is_of(entry: HistoryEntry, checkpoint: Checkpoint) -> bool:
    """Whether its batch may be the one in the log: not if it was planned at another time, or had ended before that."""
    ran, planned = entry.ran, checkpoint.offset_entry(entry.batch)
    if ran is None or planned is None:
        return True
    if ran.planned_at is not None:
        return ran.planned_at == instant(planned.timestamp_ms)
    if ran.duration_ms is None:
        return True
    ended_ms = parse_instant(ran.at, "UTC").timestamp() * 1000 + ran.duration_ms
    return ended_ms + _SLACK_MS >= planned.timestamp_ms


def _records(checkpoint: Checkpoint, begin: int, end: int) -> Iterator[BatchRecord]:
    """Of the committed batches that the logs still have, oldest first."""
    for batch in checkpoint.batches[bisect_left(checkpoint.batches, begin) : bisect_left(checkpoint.batches, end)]:
        if (record := record_of_logs(checkpoint, batch)) is not None:
            yield record


def record_of_logs(checkpoint: Checkpoint, batch: int) -> BatchRecord | None:
    """What the logs tell of a batch; None: they no longer have it."""
    planned = checkpoint.offset_entry(batch)
    if planned is None or batch not in checkpoint.commits:
        return None
    told = logged(checkpoint, batch)
    # A batch without records has no problems either.
    unknown = 0 if told.records == 0 else None
    return BatchRecord(
        batch=batch,
        at=iso_utc(planned.timestamp_ms),
        records=told.records,
        problems=unknown,
        late=unknown if planned.watermark_ms > 0 else None,
        is_exact=True,
        rows_per_s=None,
        duration_ms=None,
        watermark=told.watermark,
        newest_event=None,
        ranges=told.ranges,
        planned_at=told.planned_at,
    )
