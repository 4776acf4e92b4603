"""The lake, read without a JVM: rows, files, offsets, and the records with problems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

from anabranch.delta import messages
from anabranch.delta.hours import PARTITIONS, hour_of_partition
from anabranch.delta.table import moment, open_table, query, readable, retry_on_conflict, text


@dataclass(frozen=True)
class LakeState:
    path: str
    version: int
    rows: int
    files: int
    bytes: int
    # Topic -> partition -> the half-open range of offsets that it holds.
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


# The lake's id; of each partition how many usable records, and the offset of the last one.
RecordCounts = tuple[str, dict[int, tuple[int, int]]]


def open_lake(path: Path, version: int | None = None) -> DeltaTable:
    table = open_table(path, version)
    if table is None:
        raise messages.NO_LAKE(path=str(path), ways=[])
    return table


def inspect_lake(path: Path) -> LakeState:
    table = open_lake(path)
    sizes = [int(file["size_bytes"]) for file in _files(table)]
    parts = query(
        table,
        """
        SELECT "topic", "partition", count(*) AS "rows", min("offset") AS "first", max("offset") AS "last",
               max("record_time") AS "record", max("event_time") FILTER (WHERE "problem" IS NULL) AS "event"
        FROM held GROUP BY "topic", "partition" ORDER BY "topic", "partition"
        """,
    ).to_pylist()
    offsets: dict[str, dict[int, tuple[int, int]]] = {}
    for part in parts:
        offsets.setdefault(part["topic"], {})[part["partition"]] = (part["first"], part["last"] + 1)
    return LakeState(
        path=str(path),
        version=table.version(),
        rows=sum(part["rows"] for part in parts),
        files=len(sizes),
        bytes=sum(sizes),
        offsets=offsets,
        newest_record=_newest(part["record"] for part in parts),
        newest_event=_newest(part["event"] for part in parts),
    )


def _newest(moments: Iterable[datetime | None]) -> str | None:
    newest = max(filter(None, moments), default=None)
    return _iso(newest) if newest else None


def _iso(utc: datetime) -> str:
    return utc.isoformat().replace("+00:00", "Z")


def problem_counts(path: Path) -> dict[str, int]:
    """How many records have each problem, the most frequent first."""
    counted = 'SELECT "problem", count(*) AS "records" FROM held WHERE "problem" IS NOT NULL GROUP BY "problem"'
    found = query(open_lake(path), f'{counted} ORDER BY "records" DESC, "problem"')
    return {row["problem"]: row["records"] for row in found.to_pylist()}


def read_problems(path: Path, reason: str | None, limit: int) -> list[Problem]:
    wanted = "IS NOT NULL" if reason is None else f"= {text(reason)}"
    columns = '"problem", "topic", "partition", "offset", "record_time", "value"'
    order = '"topic", "partition", "offset"'
    found = query(open_lake(path), f'SELECT {columns} FROM held WHERE "problem" {wanted} ORDER BY {order} LIMIT {int(limit)}')
    return [
        Problem(row["problem"], row["topic"], row["partition"], row["offset"], _iso(row["record_time"]), row["value"])
        for row in found.to_pylist()
    ]


@dataclass(frozen=True)
class LakeFiles:
    """What is in some hours of the lake, and in none: those are the records without a usable time."""

    version: int
    files: int
    rows_by_hour: dict[int, int]
    rows_without_time: int

    @property
    def rows(self) -> int:
        return sum(self.rows_by_hour.values()) + self.rows_without_time


def files_within(path: Path, first_hour: int, last_hour: int, version: int | None = None) -> LakeFiles:
    table = open_lake(path, version)
    wanted = [(hour, file) for file in _files(table) if (hour := _hour(file)) is None or first_hour <= hour <= last_hour]
    rows: Counter[int | None] = Counter()
    for hour, file in wanted:
        rows[hour] += int(file["num_records"])
    by_hour = {hour: count for hour, count in rows.items() if hour is not None}
    return LakeFiles(table.version(), len(wanted), by_hour, rows[None])


def records_within(
    path: Path, topic: str, ranges: Iterable[tuple[datetime, datetime]], version: int | None = None
) -> RecordCounts:
    """The usable records of these half-open ranges of event time."""
    table = open_lake(path, version)
    within = " OR ".join(f'("event_time" >= {moment(start)} AND "event_time" < {moment(end)})' for start, end in ranges)
    found = query(
        table,
        f"""
        SELECT "partition", count(*) AS "rows", max("offset") AS "last" FROM held
        WHERE ({within}) AND "problem" IS NULL AND "topic" = {text(topic)} GROUP BY "partition"
        """,
    ).to_pylist()
    counts = {row["partition"]: (row["rows"], row["last"]) for row in found}
    return str(table.metadata().id), counts


def _files(table: DeltaTable) -> list[dict[str, Any]]:
    files: list[dict[str, Any]] = pa.table(table.get_add_actions(flatten=True)).to_pylist()
    return files


def _hour(file: dict[str, Any]) -> int | None:
    return hour_of_partition({name: file[f"partition.{name}"] for name in PARTITIONS})


def compact_lake(path: Path) -> tuple[int, int]:
    """Small files into few: how many there were, and are. The rows stay as they are."""
    before = len(open_lake(path).file_uris())

    def compact() -> DeltaTable:
        table = open_lake(path)
        with readable(path):
            table.optimize.compact()
        return table

    return before, len(retry_on_conflict(path, compact).file_uris())
