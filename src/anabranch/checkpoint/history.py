"""What we know of a checkpoint beyond what Spark keeps, beside it: what it was made with, and what each batch did.

The baseline is written at the first start and compared at every other one, since Spark itself would not notice: a topic that
was deleted and recreated gives no error, other records are read (docs/internals/hazards.md, O); another window, delay or
number of shuffle partitions on old state gives wrong results.

The history has one JSON line for each batch: Spark purges its own logs. Every line carries the totals so far, so the newest
one tells all that a status shows, whatever the age of the pipeline. A batch that ran again has a second line; a rewind, an
undo and a roll back have lines of their own, which say from which batch the totals continue.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from io import BufferedReader
from pathlib import Path
from typing import Any

import anabranch
from anabranch.checkpoint import messages
from anabranch.errors import Reason
from anabranch.storage.files import CheckpointLocation, Format, append_line, check_head, parse
from anabranch.text.format import format_duration

# The code on every record's way to a result, beside the transformation itself.
_SHARED_CODE = ("streaming/decoder/*.py", "streaming/transforms.py", "streaming/results.py", "pipeline/builtin/session_*.py")
_BLOCK_BYTES = 64 << 10


@dataclass(frozen=True)
class Baseline:
    """What a checkpoint was made with."""

    source_topic: str
    topic_id: str
    window_s: float | None
    watermark_s: float | None
    shuffle_partitions: str
    # Each code fingerprint that has run on it -> the batch that it began with.
    codes: Mapping[str, int]

    def differences(self, now: Baseline) -> Iterator[Reason]:
        """What is not as it was at the first start."""
        if self.source_topic != now.source_topic:
            yield messages.READS_OTHER_TOPIC(topic=now.source_topic, before=self.source_topic)
        elif self.topic_id != now.topic_id:
            yield messages.TOPIC_RECREATED(topic=now.source_topic)
        for what, before, after in (
            ("window", self.window_s, now.window_s),
            ("watermark", self.watermark_s, now.watermark_s),
        ):
            if before != after:
                yield messages.OTHER_DURATION(what=what, now=_duration(after), before=_duration(before))
        if self.shuffle_partitions != now.shuffle_partitions:
            yield messages.OTHER_SHUFFLE_PARTITIONS(now=now.shuffle_partitions, before=self.shuffle_partitions)


BASELINE = Format("baseline", 1, Baseline)


def read_baseline(location: CheckpointLocation) -> Baseline | None:
    """None: the checkpoint is not of one of our pipelines. A file that cannot be understood is refused."""
    return BASELINE.read(location.baseline)


def write_baseline(location: CheckpointLocation, baseline: Baseline) -> None:
    BASELINE.write(location.baseline, baseline)


def code_fingerprint(transform: Callable[..., Any]) -> str:
    """Which code computes a pipeline's results: a short hash of its sources, to be compared over upgrades."""
    root = Path(anabranch.__file__).parent
    shared = (file for pattern in _SHARED_CODE for file in sorted(root.glob(pattern)))
    digest = hashlib.sha256()
    for file in (Path(transform.__code__.co_filename), *shared):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _duration(duration_s: float | None) -> str:
    return "none" if duration_s is None else format_duration(duration_s)


@dataclass(frozen=True)
class BatchRecord:
    """What one batch did."""

    batch: int
    at: str
    records: int
    problems: int
    rows_per_s: float
    watermark: str | None


@dataclass(frozen=True)
class HistoryEntry:
    """One line: what counts from here on."""

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
