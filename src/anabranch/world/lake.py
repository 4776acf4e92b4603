"""The lake, seen without a JVM: rows, files, offsets, and the records with problems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from anabranch.core.errors import Failed


@dataclass(frozen=True)
class LakeState:
    path: str
    version: int
    rows: int
    files: int
    bytes: int
    # Topic -> partition -> the half-open range of offsets that lies here.
    offsets: dict[str, dict[int, tuple[int, int]]]
    newest_record: str | None
    newest_event: str | None


@dataclass(frozen=True)
class Problem:
    reason: str
    topic: str
    partition: int
    offset: int
    record_time: str
    value: bytes | None


Visits = tuple[str, dict[int, tuple[int, int]]]


def open_lake(path: Path, version: int | None = None) -> DeltaTable:
    try:
        return DeltaTable(path, version=version)
    except TableNotFoundError:
        raise Failed(f"there is no lake at {path} yet.", "anabranch run visits-lake") from None


def look_at_lake(path: Path) -> LakeState:
    table = open_lake(path)
    sizes = [int(file["size_bytes"]) for file in _files(table)]
    columns = ["topic", "partition", "offset", "record_time", "event_time", "problem"]
    rows = table.to_pyarrow_dataset().to_table(columns=columns)
    grouped = rows.group_by(["topic", "partition"]).aggregate([("offset", "min"), ("offset", "max")]).to_pylist()
    offsets: dict[str, dict[int, tuple[int, int]]] = {}
    for group in sorted(grouped, key=lambda group: (group["topic"], group["partition"])):
        offsets.setdefault(group["topic"], {})[group["partition"]] = (group["offset_min"], group["offset_max"] + 1)
    good = rows.filter(pc.field("problem").is_null())
    newest = [pc.max(rows.column("record_time")).as_py(), pc.max(good.column("event_time")).as_py()]
    return LakeState(
        str(path),
        table.version(),
        rows.num_rows,
        len(sizes),
        sum(sizes),
        offsets,
        *(moment.isoformat().replace("+00:00", "Z") if moment else None for moment in newest),
    )


def problem_counts(path: Path) -> dict[str, int]:
    """How many records have each problem, the most frequent first."""
    found = open_lake(path).to_pyarrow_dataset().to_table(columns=["problem"], filter=pc.field("problem").is_valid())
    grouped = found.group_by("problem").aggregate([("problem", "count")]).to_pylist()
    counts = {row["problem"]: row["problem_count"] for row in grouped}
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def read_problems(path: Path, reason: str | None, limit: int) -> Iterator[Problem]:
    wanted = pc.field("problem").is_valid() if reason is None else pc.field("problem") == reason
    columns = ["problem", "topic", "partition", "offset", "record_time", "value"]
    # To the end, on this thread: a scan that is left in the middle crashes Python at its exit (pyarrow 26, deltalake 1.6).
    scanner = open_lake(path).to_pyarrow_dataset().scanner(columns=columns, filter=wanted, use_threads=False)
    left = limit
    for batch in scanner.to_batches():
        for row in batch.slice(0, left).to_pylist():
            moment = row["record_time"].isoformat().replace("+00:00", "Z")
            yield Problem(row["problem"], row["topic"], row["partition"], row["offset"], moment, row["value"])
        left = max(0, left - batch.num_rows)


@dataclass(frozen=True)
class LakeFiles:
    """What lies in some hours of the lake, or in none: those are the records without a usable time."""

    version: int
    files: int
    rows_by_hour: dict[int, int]
    rows_without_time: int

    @property
    def rows(self) -> int:
        return sum(self.rows_by_hour.values()) + self.rows_without_time


def files_within(path: Path, first_hour: int, last_hour: int) -> LakeFiles:
    table = open_lake(path)
    wanted = [(hour, file) for file in _files(table) if (hour := _hour(file)) is None or first_hour <= hour <= last_hour]
    rows: Counter[int | None] = Counter()
    for hour, file in wanted:
        rows[hour] += int(file["num_records"])
    by_hour = {hour: count for hour, count in rows.items() if hour is not None}
    return LakeFiles(table.version(), len(wanted), by_hour, rows[None])


def visits_within(path: Path, topic: str, start: datetime, end: datetime, version: int | None = None) -> Visits:
    """The lake's id, and by partition how many usable visits of [start, end) it has, with the offset of the last one."""
    table = open_lake(path, version)
    time = pc.field("event_time")
    wanted = (time >= start) & (time < end) & pc.field("problem").is_null() & (pc.field("topic") == topic)
    found = table.to_pyarrow_dataset().to_table(columns=["partition", "offset"], filter=wanted)
    grouped = found.group_by("partition").aggregate([("offset", "count"), ("offset", "max")]).to_pylist()
    counts = {group["partition"]: (group["offset_count"], group["offset_max"]) for group in grouped}
    return str(table.metadata().id), counts


def _files(table: DeltaTable) -> list[dict[str, Any]]:
    return pa.table(table.get_add_actions(flatten=True)).to_pylist()  # type: ignore[no-any-return]


def _hour(file: dict[str, Any]) -> int | None:
    parts = [file[f"partition.{name}"] for name in ("year", "month", "day", "hour")]
    if any(part is None for part in parts):
        return None
    year, month, day, hour = map(int, parts)
    return year * 1_000_000 + month * 10_000 + day * 100 + hour


def compact_lake(path: Path) -> tuple[int, int]:
    """Small files into few: how many there were, and are. The rows stay as they are."""
    table = open_lake(path)
    before = len(table.file_uris())
    table.optimize.compact()
    return before, len(table.file_uris())
