"""Which table is at a path, and which offsets of a topic it holds. Without a JVM.

A count is made over the offsets alone: deltalake reads only that column, and skips files by their statistics.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from anabranch.delta.table import open_table, query, text
from anabranch.delta.written_rows import COORDINATES


@dataclass(frozen=True)
class TableMark:
    id: str
    version: int
    # The newest batch that the query has written; None: it has written none.
    newest: int | None
    # Whether its rows tell which records they came from.
    has_coordinates: bool


@dataclass(frozen=True)
class HeldOffsets:
    """Of one partition: the half-open range from the first to behind the last, and how many there are between."""

    first: int
    end: int
    count: int
    # Kafka's time of the last one.
    last_time: datetime


def read_mark(path: str | Path, query_id: str | None) -> TableMark | None:
    """None: there is no table."""
    table = open_table(path)
    if table is None:
        return None
    columns = {field.name for field in table.schema().fields}
    newest = table.transaction_version(query_id) if query_id else None
    return TableMark(str(table.metadata().id), table.version(), newest, columns.issuperset(COORDINATES))


def has_rows(path: str | Path) -> bool:
    table = open_table(path)
    return table is not None and query(table, "SELECT 1 FROM held LIMIT 1").num_rows > 0


def held_offsets(
    path: str | Path, topic: str, within: Mapping[int, tuple[int, int | None]] | None = None, version: int | None = None
) -> dict[int, HeldOffsets]:
    """Partition -> what the table holds of it. `within`: only these offsets, [first, end) of each partition."""
    table = open_table(path, version)
    if table is None:
        return {}
    ranges = "TRUE" if within is None else " OR ".join(_within(*one) for one in within.items()) or "FALSE"
    rows = _select(
        table,
        f"""
        SELECT "partition", min("offset") AS "first", max("offset") AS "last", count(DISTINCT "offset") AS "count",
               first_value("record_time" ORDER BY "offset" DESC) AS "time"
        FROM held WHERE "topic" = {text(topic)} AND ({ranges}) GROUP BY "partition"
        """,
    )
    return {row["partition"]: HeldOffsets(row["first"], row["last"] + 1, row["count"], row["time"]) for row in rows}


def missing_offsets(
    path: str | Path, topic: str, partition: int, first: int, end: int, version: int, most: int
) -> list[tuple[int, int]]:
    """The half-open ranges within [first, end) of which the table has no row, in order; at most so many."""
    table = open_table(path, version)
    if table is None:
        return [(first, end)]
    # What stands before the first and behind the last one is found as a gap too.
    rows = _select(
        table,
        f"""
        SELECT "offset" + 1 AS "first", "next" AS "end" FROM (
            SELECT "offset", lead("offset") OVER (ORDER BY "offset") AS "next" FROM (
                SELECT DISTINCT "offset" FROM held WHERE "topic" = {text(topic)} AND {_within(partition, (first, end))}
                UNION ALL SELECT arrow_cast({int(first) - 1}, 'Int64') UNION ALL SELECT arrow_cast({int(end)}, 'Int64')
            )
        ) WHERE "next" > "offset" + 1 ORDER BY "offset" LIMIT {int(most)}
        """,
    )
    return [(row["first"], row["end"]) for row in rows]


def may_have_lost_rows(path: str | Path, since: int, until: int) -> bool:
    """Whether rows may have been deleted between two versions. By the log's own commits; one that is gone may have done so."""
    return any(_removes_rows(Path(path) / "_delta_log" / f"{version:020}.json") for version in range(since + 1, until + 1))


def _removes_rows(commit: Path) -> bool:
    try:
        lines = commit.read_text(encoding="utf-8").splitlines()
        # A compaction removes files too, and changes no data.
        return any(json.loads(line).get("remove", {}).get("dataChange", False) for line in lines if '"remove"' in line)
    except (FileNotFoundError, ValueError, AttributeError):
        return True


def _within(partition: int, offsets: tuple[int, int | None]) -> str:
    first, end = offsets
    until = "" if end is None else f' AND "offset" < {int(end)}'
    return f'("partition" = {int(partition)} AND "offset" >= {int(first)}{until})'


def _select(table: DeltaTable, sql: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = query(table, sql).to_pylist()
    return rows
