"""Completes a history from the checkpoint's own logs: a batch whose event was lost, by a kill or by Spark, does not vanish.

The logs are the truth about which batches ran. What only the event could tell is not known, and says so.
"""

from __future__ import annotations

from dataclasses import replace

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
from anabranch.text.format import iso_utc, parse_instant

# So many batches are read from the logs at most: a second of a start. Those before them are counted as not known.
_MOST_BATCHES = 2000
# A batch's event has its time to the millisecond, at the begin of its trigger: what ended before its plan is another batch.
_SLACK_MS = 1000
# The operation of an entry that says: what is above it was of another query, whose checkpoint is gone.
CHECKPOINT_REPLACED = "checkpoint-replaced"


def reconcile(location: CheckpointLocation, checkpoint: Checkpoint, below: int | None = None) -> int:
    """Appends what the history lacks of the committed batches, all or those below one. The newest batch that it has then."""
    known = counting_entry(location, checkpoint)
    committed = -1 if checkpoint.commits.newest is None else checkpoint.commits.newest
    last = committed if below is None else min(committed, below - 1)
    entries: list[HistoryEntry] = []
    for batch in range(max(known.batch + 1, last - _MOST_BATCHES + 1), last + 1):
        if (record := record_of_logs(checkpoint, batch)) is not None:
            entries.append(entry_after(entries[-1] if entries else known, record))
    newest = newest_entry(location)
    if not entries and newest is not None and newest.batch > committed:
        entries.append(replace(known, ran=None, operation=CHECKPOINT_REPLACED, undoes=None))
    append_entries(location, entries)
    return entries[-1].batch if entries else known.batch


def counting_entry(location: CheckpointLocation, checkpoint: Checkpoint) -> HistoryEntry:
    """The newest entry that is of this checkpoint: one that was moved away by hand left a history of other batches."""
    committed = -1 if checkpoint.commits.newest is None else checkpoint.commits.newest
    found = entry_below(newest_first(location), committed + 1)
    return found if _is_of(found, checkpoint) else EMPTY


def _is_of(entry: HistoryEntry, checkpoint: Checkpoint) -> bool:
    """Whether its batch may be the one in the log: not if it had ended before that one was planned."""
    ran, planned = entry.ran, checkpoint.offset_entry(entry.batch)
    if ran is None or ran.duration_ms is None or planned is None:
        return True
    ended_ms = parse_instant(ran.at, "UTC").timestamp() * 1000 + ran.duration_ms
    return ended_ms + _SLACK_MS >= planned.timestamp_ms


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
