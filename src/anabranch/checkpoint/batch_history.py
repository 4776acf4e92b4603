"""What each batch of a checkpoint did, kept beside it: rows, problems, watermark, offsets. One JSON line for each batch.

Spark purges its own logs after some batches; what is to be explained later is kept here. A batch that ran again has a
second line: the last one counts. A rewind and an undo leave a line of their own.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class BatchRecord:
    batch: int
    at: str
    records: int
    problems: int
    rows_per_s: float
    watermark: str | None


def history_path(checkpoint: Path) -> Path:
    return checkpoint.with_name(f"{checkpoint.name}.batches.jsonl")


def append_batch(checkpoint: Path, record: BatchRecord) -> None:
    _append(checkpoint, asdict(record))


def append_rewind(checkpoint: Path, operation: str, batch: int) -> None:
    """From here on the batches from this one on count no more. Said again, after a crash, it changes nothing."""
    entry = {"rewind": operation, "to": batch}
    if entry not in map(_parse, _lines(checkpoint)):
        _append(checkpoint, entry)


def append_undo(checkpoint: Path, rewind: str) -> None:
    """What counted before the rewind counts again."""
    _append(checkpoint, {"undo": rewind})


def _append(checkpoint: Path, entry: dict[str, Any]) -> None:
    # One write of one short line: two never mix, and a torn one at the end of a crash is skipped by the reader.
    with history_path(checkpoint).open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")


def read_batches(checkpoint: Path) -> dict[int, BatchRecord]:
    """The batches that count: each as it ran last, without those that were taken back."""
    batches: dict[int, BatchRecord] = {}
    before: dict[str, dict[int, BatchRecord]] = {}
    for entry in map(_parse, _lines(checkpoint)):
        match entry:
            case {"rewind": str(operation), "to": int(first)}:
                before.setdefault(operation, batches)
                batches = {number: record for number, record in batches.items() if number < first}
            case {"undo": str(operation)}:
                batches = dict(before.get(operation, batches))
            case BatchRecord():
                batches[entry.batch] = entry
    return batches


def _lines(checkpoint: Path) -> list[str]:
    try:
        return history_path(checkpoint).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []


def _parse(line: str) -> BatchRecord | dict[str, Any] | None:
    try:
        entry = json.loads(line)
        return entry if "batch" not in entry else BatchRecord(**entry)
    except (ValueError, TypeError):
        return None
