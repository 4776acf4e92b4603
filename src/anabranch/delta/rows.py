"""Rows of a Delta table that a streaming query wrote, taken out and put back without a JVM, each in one commit.

The same commit sets the query's transaction id: Delta skips every batch id that it has seen (hazard G). Each commit carries the
id of its rewind, and the last mark tells whether the rows are out or in: so a step that is done again changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

from anabranch.delta.table import ask, open_table, retry_on_conflict, text
from anabranch.errors import Failed
from anabranch.operations.change import Pairs, WrittenRows

_REWIND, _STEP = "anabranch-rewind", "anabranch-step"
# What tells a record of Kafka: a table without them cannot be taken back by offsets.
COORDINATES = ("topic", "partition", "offset")
# deltalake cannot write to a table with these, nor delete from one that only grows.
_NOT_WRITABLE = ("delta.appendOnly", "delta.enableRowTracking", "delta.enableInCommitTimestamps")

Place = Literal["in", "out"]


@dataclass(frozen=True)
class TableState:
    """What a plan needs to know of a table."""

    version: int
    # The newest batch that the query has written; None: it has written none.
    newest: int | None
    # Why its rows cannot be taken out; empty: they can.
    why_not: tuple[str, ...]
    # Rows in the ranges, and how many records of Kafka these are: with a second writer of the same there are fewer.
    rows: int
    records: int


def inspect_table(path: str, query_id: str, ranges: Pairs) -> TableState | None:
    """None: there is no table."""
    table = open_table(path)
    if table is None:
        return None
    why_not = tuple(_why_not(table))
    found = _select(table, '"topic", "partition", "offset"', ranges) if not why_not else None
    return TableState(
        version=table.version(),
        newest=table.transaction_version(query_id),
        why_not=why_not,
        rows=found.num_rows if found else 0,
        records=found.group_by(list(COORDINATES)).aggregate([]).num_rows if found else 0,
    )


def _why_not(table: DeltaTable) -> Iterator[str]:
    missing = [name for name in COORDINATES if name not in {field.name for field in table.schema().fields}]
    if missing:
        yield f"its rows do not tell which records they came from: there is no column {', '.join(missing)}"
    settings = table.metadata().configuration
    for name in _NOT_WRITABLE:
        if str(settings.get(name, "")).lower() == "true":
            yield f"{name} is set on it, so that no row can be taken out from here"


def newest_batch(path: str, query_id: str) -> int | None:
    return _open(path).transaction_version(query_id)


def _open(path: str, version: int | None = None, *ways: str) -> DeltaTable:
    table = open_table(path, version, *ways)
    if table is None:
        raise Failed(f"there is no table at {path} any more.", "put it back where it was")
    return table


def check_rows_are_kept(rows: WrittenRows) -> None:
    """That an undo will find what it has to put back: a vacuum may have removed the files."""
    _removed(rows)


class DeltaTables:
    def delete_rows(self, rows: WrittenRows) -> None:
        retry_on_conflict(rows.table, lambda: _take_out(rows))

    def restore_rows(self, rows: WrittenRows) -> None:
        retry_on_conflict(rows.table, lambda: _put_back(rows))


def _take_out(rows: WrittenRows) -> None:
    table = _open(rows.table)
    if _place(table, rows) == "out":
        return
    properties = _properties(rows, rows.set_back_to, "out")
    deleted = table.delete(_predicate(rows.ranges), commit_properties=properties)
    if deleted["num_deleted_rows"] == 0:
        # A delete of nothing makes no commit, and so sets no transaction.
        _set_transaction(_open(rows.table), properties)


def _put_back(rows: WrittenRows) -> None:
    table = _open(rows.table)
    if _place(table, rows) == "in":
        return
    removed = _removed(rows)
    properties = _properties(rows, rows.newest, "in")
    if removed.num_rows == 0:
        _set_transaction(table, properties)
        return
    write_deltalake(table, removed, mode="append", commit_properties=properties)


def _place(table: DeltaTable, rows: WrittenRows) -> Place:
    mark = _last_mark(table, rows)
    return "out" if mark is not None and mark[_STEP] == "out" else "in"


def _last_mark(table: DeltaTable, rows: WrittenRows) -> dict[str, Any] | None:
    """The newest commit of this rewind; all are younger than the plan."""
    since = max(1, table.version() - rows.version)
    return next((commit for commit in table.history(since) if commit.get(_REWIND) == rows.rewind), None)


def _removed(rows: WrittenRows) -> pa.Table:
    """What the take-out removed: the rows of the version before it."""
    mark = _last_mark(_open(rows.table), rows)
    if mark is None:
        raise Failed(f"the log of {rows.table} does not have the commit of {rows.rewind} any more.", _BY_HAND)
    before = _open(rows.table, int(mark["version"]) - 1, _BY_HAND)
    return _select(before, "*", rows.ranges, _BY_HAND)


_BY_HAND = "a vacuum has removed what was taken out: run the query again instead, it reads it from Kafka"


def _properties(rows: WrittenRows, transaction: int, place: Place) -> CommitProperties:
    return CommitProperties(
        custom_metadata={_REWIND: rows.rewind, _STEP: place},
        app_transactions=[Transaction(rows.query_id, transaction)],
    )


def _set_transaction(table: DeltaTable, properties: CommitProperties) -> None:
    table.create_write_transaction([], "append", table.schema(), commit_properties=properties)


def _predicate(ranges: Pairs) -> str:
    """From values only: a topic's name is quoted, the rest are numbers."""
    return " OR ".join(
        f'("topic" = {text(topic)} AND "partition" = {int(partition)} AND "offset" >= {int(first)} AND "offset" < {int(end)})'
        for topic, partition, first, end in _flat(ranges)
    )


def _flat(ranges: Pairs) -> Iterator[tuple[str, str, int, int]]:
    for topic, held in ranges.items():
        for partition, (first, end) in held.items():
            yield topic, partition, first, end


def _select(table: DeltaTable, columns: str, ranges: Pairs, *ways: str) -> pa.Table:
    return ask(table, f"SELECT {columns} FROM held WHERE {_predicate(ranges)}", *ways)
