"""What each batch of a checkpoint did, kept beside it: rows, problems, watermark, offsets. One JSON line for each batch.

Spark purges its own logs after some batches; what is to be explained later is kept here. A batch that ran again has a
second line: the last one counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path


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
    # One write of one short line: two never mix, and a torn one at the end of a crash is skipped by the reader.
    with history_path(checkpoint).open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(record)) + "\n")


def read_batches(checkpoint: Path) -> dict[int, BatchRecord]:
    try:
        lines: Iterable[str] = history_path(checkpoint).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    return {record.batch: record for line in lines if (record := _parse(line)) is not None}


def _parse(line: str) -> BatchRecord | None:
    try:
        return BatchRecord(**json.loads(line))
    except (ValueError, TypeError):
        return None
