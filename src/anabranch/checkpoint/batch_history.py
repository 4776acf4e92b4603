"""What each batch of a checkpoint did, kept beside it, one JSON line for each: Spark purges its own logs.

Every line carries the totals so far, so the newest one tells all that a status shows, whatever the age of the pipeline. A
batch that ran again has a second line; a rewind, an undo and a roll back have lines of their own, which say from which
batch the totals continue.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from io import BufferedReader
from pathlib import Path

from anabranch.storage.files import Format, append_line, check_head, parse
from anabranch.storage.location import CheckpointLocation

_BLOCK_BYTES = 64 << 10


@dataclass(frozen=True)
class BatchRecord:
    batch: int
    at: str
    records: int
    problems: int
    rows_per_s: float
    watermark: str | None


@dataclass(frozen=True)
class HistoryEntry:
    # The newest batch that counts from here on; -1: none does.
    batch: int
    # Over all batches that count.
    total_records: int
    total_problems: int
    # What the batch did; None: this is the entry of an operation.
    ran: BatchRecord | None = None
    operation: str | None = None
    # The operation whose entry no longer counts, nor what is between the two.
    undoes: str | None = None


HISTORY = Format("batch-history", 1, HistoryEntry)
EMPTY = HistoryEntry(batch=-1, total_records=0, total_problems=0)


def newest_entry(location: CheckpointLocation) -> HistoryEntry:
    return next(_newest_first(location.history), EMPTY)


def append_batch(location: CheckpointLocation, record: BatchRecord) -> None:
    before = entry_below(_newest_first(location.history), record.batch)
    entry = HistoryEntry(
        batch=record.batch,
        total_records=before.total_records + record.records,
        total_problems=before.total_problems + record.problems,
        ran=record,
    )
    _append(location.history, entry)


def append_rewind(location: CheckpointLocation, operation: str, to_batch: int) -> None:
    """From here on the batches from this one on no longer count. Written again after a crash, it changes nothing."""
    if newest_entry(location).operation != operation:
        below = entry_below(_newest_first(location.history), to_batch)
        _append(
            location.history, replace(below, batch=to_batch - 1, ran=None, operation=operation, undoes=None), is_durable=True
        )


def append_undo(location: CheckpointLocation, operation: str, undoes: str) -> None:
    """What counted before the operation that is undone counts again."""
    if newest_entry(location).operation != operation:
        before = entry_before(_newest_first(location.history), undoes)
        if before is not None:
            _append(location.history, replace(before, ran=None, operation=operation, undoes=undoes), is_durable=True)


def take_back(location: CheckpointLocation, operation: str) -> None:
    """The entry of an operation that is rolled back, if it has one, no longer counts."""
    if newest_entry(location).operation == operation:
        append_undo(location, f"{operation}-rolled-back", operation)


def entry_below(newest_first: Iterator[HistoryEntry], batch: int) -> HistoryEntry:
    """The newest entry that counts and is of an earlier batch: its totals are those before this batch."""
    undone: str | None = None
    for entry in newest_first:
        if undone is not None:
            undone = None if entry.operation == undone else undone
        elif entry.batch < batch:
            return entry
        else:
            undone = entry.undoes
    return EMPTY


def entry_before(newest_first: Iterator[HistoryEntry], operation: str) -> HistoryEntry | None:
    """The entry that stood when the operation wrote its own; None: it never did."""
    for entry in newest_first:
        if entry.operation == operation:
            return next(newest_first, EMPTY)
    return None


def _append(path: Path, entry: HistoryEntry, *, is_durable: bool = False) -> None:
    if not path.exists():
        append_line(path, json.dumps(HISTORY.head))
    append_line(path, json.dumps(HISTORY.as_json(entry)), is_durable=is_durable)


def _newest_first(path: Path) -> Iterator[HistoryEntry]:
    """A line that a crash cut off is skipped; one with unknown fields is refused."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        head = file.readline()
        if not head.endswith(b"\n"):
            return
        check_head(parse(head.decode("utf-8", errors="replace"), str(path)), HISTORY.kind, HISTORY.number, str(path))
        for line in _lines_backward(file, len(head)):
            if (found := _whole(line)) is not None:
                yield HISTORY.from_json({**HISTORY.head, **found}, str(path))


def _whole(line: bytes) -> dict[str, object] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _lines_backward(file: BufferedReader, begin: int) -> Iterator[bytes]:
    """The lines from the end of a file to a position, read block by block: most callers need only the last."""
    end, rest = file.seek(0, os.SEEK_END), b""
    while end > begin:
        start = max(begin, end - _BLOCK_BYTES)
        file.seek(start)
        first, *lines = (file.read(end - start) + rest).split(b"\n")
        yield from (line for line in reversed(lines) if line)
        end, rest = start, first
    if rest:
        yield rest
