"""What each batch of a query did, beside its checkpoint: one JSON line for each, since Spark purges its own logs.

Every line carries the totals so far, so the newest one tells all that a status shows, whatever the age of the pipeline. A
batch that ran again has a second line; a rewind, an undo and a roll back have lines of their own, which say from which batch
the totals continue. A batch whose figures were lost is counted as such: what is not known is never taken for 0.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from io import BufferedReader
from pathlib import Path
from typing import Any

from anabranch.checkpoint.logged import Ranges
from anabranch.storage.files import CheckpointLocation, Format, append_line, check_head, parse

_BLOCK_BYTES = 64 << 10


@dataclass(frozen=True)
class NewestEvent:
    """The greatest event time that a batch has read, and the record that has it: it moves the watermark."""

    at: str
    topic: str
    partition: int
    offset: int

    @property
    def record(self) -> str:
        return f"{self.topic}:{self.partition}:{self.offset}"


@dataclass(frozen=True)
class WatermarkJump:
    """A watermark that moved further in one batch than it usually does, and the record that moved it."""

    batch: int
    before: str
    after: str
    moved_by: NewestEvent | None


@dataclass(frozen=True)
class BatchRecord:
    """What one batch did. None: not known; the event with its figures was lost, or an earlier version did not count it."""

    batch: int
    at: str
    records: int | None
    problems: int | None
    # Dropped by the watermark. None also: the pipeline has no watermark.
    late: int | None
    # Whether these are exact: a stage that was retried counts its records again.
    is_exact: bool
    rows_per_s: float | None
    duration_ms: int | None
    watermark: str | None
    # None also: it has read no usable record.
    newest_event: NewestEvent | None
    # Topic -> partition -> [first, end) of what it read, by the checkpoint's logs; also of partitions in which it read nothing.
    ranges: Ranges | None = None
    # By the checkpoint's log; a batch that ran again keeps it.
    planned_at: str | None = None
    committed_at: str | None = None
    # Phase -> its duration, as Spark names and measures them.
    phases_ms: Mapping[str, int] | None = None
    # Rows that all its operators held behind it; 0: it has no state.
    state_rows: int | None = None
    # What its results follow from besides its records (`streaming/preflight.py`, `run_fingerprint`).
    code: str | None = None

    @property
    def is_counted(self) -> bool:
        return self.records is not None and self.problems is not None


@dataclass(frozen=True)
class HistoryEntry:
    """One line: what counts from here on."""

    # The newest batch that counts from here on; -1: none does.
    batch: int
    # Over all batches that count, as far as they were counted.
    total_records: int
    total_problems: int
    total_late: int
    # Batches that count and whose figures are not in the totals.
    uncounted: int
    # Late records are counted from this batch on.
    late_from: int
    # Whether the totals are exact, but for the batches that were not counted.
    is_exact: bool
    # The newest that counts.
    jump: WatermarkJump | None
    # What the batch did; None: this is the entry of an operation.
    ran: BatchRecord | None = None
    operation: str | None = None
    # The operation whose entry no longer counts, nor what is between the two.
    undoes: str | None = None


def _from_1(fields: dict[str, Any]) -> dict[str, Any]:
    """Late records were not counted, and a batch whose event was lost left no trace."""
    ran = fields.get("ran")
    unknown = {"total_late": 0, "uncounted": 0, "late_from": fields.get("batch", 0) + 1, "is_exact": True, "jump": None}
    return {**unknown, **fields, "ran": None if ran is None else record_from_1(ran)}


def _from_2(fields: dict[str, Any]) -> dict[str, Any]:
    ran = fields.get("ran")
    return fields if ran is None else {**fields, "ran": _record_from_2(ran)}


def record_from_1(fields: dict[str, Any]) -> dict[str, Any]:
    return _record_from_2({"late": None, "is_exact": True, "duration_ms": None, "newest_event": None, **fields})


def _record_from_2(fields: dict[str, Any]) -> dict[str, Any]:
    """Where a batch read, when it was planned and committed, and by which code, was not kept."""
    return {**dict.fromkeys(("ranges", "planned_at", "committed_at", "phases_ms", "state_rows", "code")), **fields}


HISTORY = Format("batch-history", 3, HistoryEntry, {1: _from_1, 2: _from_2})
EMPTY = HistoryEntry(
    batch=-1, total_records=0, total_problems=0, total_late=0, uncounted=0, late_from=0, is_exact=True, jump=None
)


def newest_entry(location: CheckpointLocation) -> HistoryEntry | None:
    """None: there is no history, or nothing in it can be read."""
    return next(newest_first(location), None)


def size_of(location: CheckpointLocation) -> int:
    """In bytes; 0: there is none."""
    return location.history.stat().st_size if location.history.exists() else 0


def newest_first(location: CheckpointLocation) -> Iterator[HistoryEntry]:
    return _newest_first(location.history)


def lines_newest_first(location: CheckpointLocation, since: int = 0) -> Iterator[HistoryEntry | None]:
    """None: a line that a crash has torn. `since`: only what is behind so many bytes of the file."""
    return _lines_newest_first(location.history, since)


def append_batch(location: CheckpointLocation, record: BatchRecord, jump: WatermarkJump | None = None) -> HistoryEntry:
    before = entry_below(_newest_first(location.history), record.batch)
    entry = entry_after(before, record, jump)
    append_entries(location, [entry])
    return entry


def append_entries(location: CheckpointLocation, entries: Sequence[HistoryEntry], *, is_durable: bool = False) -> None:
    """In one write, however many."""
    if not entries:
        return
    _ensure_head(location.history)
    lines = "\n".join(json.dumps(HISTORY.as_json(entry), separators=(",", ":")) for entry in entries)
    append_line(location.history, lines, is_durable=is_durable)


def entry_after(before: HistoryEntry, record: BatchRecord, jump: WatermarkJump | None = None) -> HistoryEntry:
    """Batches between the two left no line: their figures are lost."""
    lost = record.batch - before.batch - 1
    return HistoryEntry(
        batch=record.batch,
        total_records=before.total_records + (record.records or 0),
        total_problems=before.total_problems + (record.problems or 0),
        total_late=before.total_late + (record.late or 0),
        uncounted=before.uncounted + lost + (not record.is_counted),
        late_from=before.late_from,
        is_exact=before.is_exact and record.is_exact,
        jump=jump or before.jump,
        ran=record,
    )


def append_rewind(location: CheckpointLocation, operation: str, to_batch: int) -> None:
    """From here on the batches from this one on no longer count. Written again after a crash, it changes nothing."""
    if not _is_newest(location, operation):
        below = entry_below(_newest_first(location.history), to_batch)
        # Batches between the two left no line.
        uncounted = below.uncounted + to_batch - 1 - below.batch
        entry = replace(below, batch=to_batch - 1, uncounted=uncounted, ran=None, operation=operation, undoes=None)
        append_entries(location, [entry], is_durable=True)


def append_undo(location: CheckpointLocation, operation: str, undoes: str) -> None:
    """What counted before the operation that is undone counts again."""
    if not _is_newest(location, operation):
        before = entry_before(_newest_first(location.history), undoes)
        if before is not None:
            entry = replace(before, ran=None, operation=operation, undoes=undoes)
            append_entries(location, [entry], is_durable=True)


def take_back(location: CheckpointLocation, operation: str) -> None:
    """The entry of an operation that is rolled back, if it has one, no longer counts."""
    if _is_newest(location, operation):
        append_undo(location, f"{operation}-rolled-back", operation)


def _is_newest(location: CheckpointLocation, operation: str) -> bool:
    entry = newest_entry(location)
    return entry is not None and entry.operation == operation


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


def _ensure_head(path: Path) -> None:
    """A file of an earlier format becomes one of this, whose lines may be of each: only the number in its head changes.

    A head that a crash cut off is written again: nothing can be behind it.
    """
    head = json.dumps(HISTORY.head).encode()
    earlier = tuple(json.dumps({**HISTORY.head, "format": number}).encode() for number in HISTORY.earlier)
    try:
        with path.open("rb+") as file:
            found = file.read(len(head) + 1)
            if found.startswith(earlier) or (len(found) <= len(head) and head.startswith(found)):
                file.seek(0)
                file.write(head if len(found) > len(head) else head + b"\n")
    except FileNotFoundError:
        append_line(path, head.decode())


def _newest_first(path: Path) -> Iterator[HistoryEntry]:
    """A line that a crash cut off is skipped; one with unknown fields is refused."""
    return (entry for entry in _lines_newest_first(path) if entry is not None)


def _lines_newest_first(path: Path, since: int = 0) -> Iterator[HistoryEntry | None]:
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        head = file.readline()
        if not head.endswith(b"\n"):
            return
        check_head(parse(head.decode("utf-8", errors="replace"), str(path)), HISTORY, str(path))
        for line in _lines_backward(file, max(since, len(head))):
            found = _whole(line)
            yield None if found is None else HISTORY.from_json({**HISTORY.head, "format": _number(found), **found}, str(path))


def _number(line: dict[str, object]) -> int:
    """The format of a line: the head tells only of the newest."""
    if "total_late" not in line:
        return 1
    ran = line.get("ran")
    return 2 if isinstance(ran, dict) and "ranges" not in ran else HISTORY.number


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
