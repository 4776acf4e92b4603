"""A Delta table without a JVM: queries, and the rows of a streaming query deleted and restored, each in one commit.

That commit also sets the query's transaction: Delta skips every batch id that it has seen (docs/internals/hazards.md, G). It
carries the id of its rewind, and the last mark tells whether the rows are deleted: so a repeated step changes nothing.

Queries go through deltalake's own engine, which knows deletion vectors. Never by a scan of pyarrow's: its threads read through
Python, and sometimes abort it at its exit ("terminate called without an active exception").
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from random import random
from time import sleep
from typing import Any, Literal, TypeVar
from urllib.parse import unquote

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, QueryBuilder, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError

from anabranch.delta import messages
from anabranch.delta.engine_errors import file_in, in_one_line, system_error
from anabranch.delta.written_rows import COORDINATES, Written, WrittenRows
from anabranch.errors import PERMISSION_DENIED, Failed, Reason

T = TypeVar("T")
# How often a change is tried beside writers that never pause.
_ATTEMPTS = 60
_PAUSE_S = 0.01
_REWIND, _STEP = "anabranch-rewind", "anabranch-step"
# deltalake cannot write to a table with these, nor delete from one that only grows.
_NOT_WRITABLE = ("delta.appendOnly", "delta.enableRowTracking", "delta.enableInCommitTimestamps")

# Topic -> partition -> the half-open range of offsets.
Ranges = Mapping[str, Mapping[str, tuple[int, int]]]
# The values of `anabranch-step` in the table's log.
Step = Literal["in", "out"]


def open_table(path: str | Path, version: int | None = None, unreadable: Failed | None = None) -> DeltaTable | None:
    """None: there is no table. `unreadable`: what to say where it cannot be read, if not the usual."""
    try:
        with readable(path, unreadable):
            return DeltaTable(path, version=version)
    except TableNotFoundError:
        return None


def query(table: DeltaTable, sql: str, unreadable: Failed | None = None) -> pa.Table:
    """The table's name in the query is `held`; values are put into it by the functions below."""
    with readable(unquote(table.table_uri).removeprefix("file://").rstrip("/"), unreadable):
        return pa.table(QueryBuilder().register("held", table).execute(sql))


@contextmanager
def readable(path: str | Path, unreadable: Failed | None = None) -> Iterator[None]:
    """Says so where the log is damaged, or names a file that is missing."""
    try:
        yield
    except (TableNotFoundError, CommitFailedError):
        raise
    except (OSError, DeltaError, pa.ArrowException) as error:
        _raise_system_error(str(error), str(path))
        if unreadable is not None:
            raise unreadable from None
        remedies: list[Reason] = [messages.RESTORE_TABLE(), messages.TABLE_ASIDE(path=str(path))]
        raise messages.TABLE_UNREADABLE(path=str(path), reason=in_one_line(str(error)), remedies=remedies) from None


def _raise_system_error(error: str, path: str) -> None:
    """What the system refuses to this user, or has no room for, is no damage of the table."""
    number, file = system_error(error), file_in(error) or path
    if number in (errno.EACCES, errno.EPERM):
        raise PERMISSION_DENIED(path=file) from None
    if number in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
        raise OSError(number, os.strerror(number), file) from None


def check_writable(path: str | Path) -> None:
    """Before a change: where it may not write, deltalake prints a backtrace of Rust."""
    for directory in (Path(path), Path(path) / "_delta_log"):
        if directory.exists() and not os.access(directory, os.W_OK | os.X_OK):
            raise PERMISSION_DENIED(path=str(directory))


def retry_on_conflict(path: str | Path, change: Callable[[], T]) -> T:
    """Of two that change a table at once one fails, as it must. It opens the table again, and decides again."""
    check_writable(path)
    for attempt in range(_ATTEMPTS):
        try:
            with readable(path):
                return change()
        except CommitFailedError:
            # Out of step with a writer that commits at a steady pace: nothing tells when it is done.
            sleep(random() * _PAUSE_S * attempt)
    raise messages.TABLE_BUSY(path=str(path), attempts=_ATTEMPTS)


def text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def moment(value: datetime) -> str:
    # In the unit of Delta's times: as a plain TIMESTAMP it would be one of nanoseconds, which have no year 9999.
    return f"arrow_cast({text(value.isoformat())}, 'Timestamp(Microsecond, Some(\"UTC\"))')"


@dataclass(frozen=True)
class TableState:
    """What a plan needs to know of a table."""

    version: int
    # The newest batch that the query has written; None: it has written none.
    newest: int | None
    # Why its rows cannot be deleted; empty: they can.
    why_not: tuple[Reason, ...]
    # Rows in the ranges, and how many records of Kafka these are: with a second writer of the same there are fewer.
    rows: int
    records: int


def inspect_table(path: str, query_id: str, ranges: Ranges) -> TableState | None:
    """None: there is no table."""
    table = open_table(path)
    if table is None:
        return None
    check_writable(path)
    why_not = tuple(check_changeable(table))
    found = _select(table, '"topic", "partition", "offset"', ranges) if not why_not else None
    return TableState(
        version=table.version(),
        newest=table.transaction_version(query_id),
        why_not=why_not,
        rows=found.num_rows if found else 0,
        records=found.group_by(list(COORDINATES)).aggregate([]).num_rows if found else 0,
    )


def check_changeable(table: DeltaTable) -> Iterator[Reason]:
    """Why rows cannot be deleted from it."""
    settings = table.metadata().configuration
    for name in _NOT_WRITABLE:
        if str(settings.get(name, "")).lower() == "true":
            yield messages.NOT_DELETABLE(setting=name)


def newest_batch(path: str, query_id: str) -> int | None:
    return open_existing(path).transaction_version(query_id)


def open_existing(path: str, version: int | None = None, unreadable: Failed | None = None) -> DeltaTable:
    table = open_table(path, version, unreadable)
    if table is None:
        raise messages.TABLE_GONE(path=path)
    return table


def check_rows_are_kept(rows: WrittenRows) -> None:
    """That an undo will find what it has to restore: a vacuum may have removed the files."""
    _removed(rows)


def delete_rows(rows: WrittenRows) -> None:
    retry_on_conflict(rows.table, lambda: _delete(rows))


def restore_rows(rows: WrittenRows) -> None:
    retry_on_conflict(rows.table, lambda: _restore(rows))


def _delete(rows: WrittenRows) -> None:
    table = open_existing(rows.table)
    if step_of(rows) == "out":
        return
    properties = commit_properties(rows, rows.set_back_to, "out")
    deleted = table.delete(_predicate(rows.ranges), commit_properties=properties)
    if deleted["num_deleted_rows"] == 0:
        # A delete of nothing makes no commit, and so sets no transaction.
        set_transaction(open_existing(rows.table), properties)


def _restore(rows: WrittenRows) -> None:
    table = open_existing(rows.table)
    if step_of(rows) == "in":
        return
    removed = _removed(rows)
    properties = commit_properties(rows, rows.newest, "in")
    if removed.num_rows == 0:
        set_transaction(table, properties)
        return
    write_deltalake(table, removed, mode="append", commit_properties=properties)


def step_of(rows: Written) -> Step:
    mark = last_mark(rows)
    return "out" if mark is not None and mark[_STEP] == "out" else "in"


def last_mark(rows: Written) -> dict[str, Any] | None:
    """The newest commit of this rewind, with its version; all are younger than the plan.

    By the log's own files: deltalake's history lists commits that came since the table was opened, and numbers them as if there
    were none.
    """
    for version in range(open_existing(rows.table).version(), rows.version, -1):
        commit = read_commit(rows.table, version).info
        if commit.get(_REWIND) == rows.rewind:
            return {**commit, "version": version}
    return None


@dataclass(frozen=True)
class Commit:
    """An entry of the table's log. Empty where the log no longer has it."""

    actions: tuple[tuple[str, dict[str, Any]], ...]

    @property
    def info(self) -> dict[str, Any]:
        """What it says of itself."""
        return next((action for kind, action in self.actions if kind == "commitInfo"), {})

    def transaction(self, query_id: str) -> int | None:
        """The batch of this query that it is."""
        found = (action for kind, action in self.actions if kind == "txn" and action["appId"] == query_id)
        return next((int(action["version"]) for action in found), None)

    @property
    def changes_table(self) -> bool:
        """Not where it only writes the same rows into other files, or says that it has."""
        return any(
            kind in ("metaData", "protocol") or (kind in ("add", "remove") and action.get("dataChange", True))
            for kind, action in self.actions
        )


def read_commit(path: str, version: int) -> Commit:
    try:
        lines = (Path(path) / "_delta_log" / f"{version:020}.json").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return Commit(())
    return Commit(tuple(next(iter(json.loads(line).items())) for line in lines))


def _removed(rows: WrittenRows) -> pa.Table:
    """What was deleted: the rows of the version before."""
    vacuumed = messages.ROWS_VACUUMED(operation=rows.rewind, path=rows.table)
    mark = last_mark(rows)
    if mark is None:
        raise vacuumed
    before = open_existing(rows.table, int(mark["version"]) - 1, vacuumed)
    return _select(before, "*", rows.ranges, vacuumed)


def commit_properties(rows: Written, transaction: int, step: Step) -> CommitProperties:
    return CommitProperties(
        custom_metadata={_REWIND: rows.rewind, _STEP: step},
        app_transactions=[Transaction(rows.query_id, transaction)],
    )


def set_transaction(table: DeltaTable, properties: CommitProperties) -> None:
    table.create_write_transaction([], "append", table.schema(), commit_properties=properties)


def _predicate(ranges: Ranges) -> str:
    """From values only: a topic's name is quoted, the rest are numbers."""
    return " OR ".join(
        f'("topic" = {text(topic)} AND "partition" = {int(partition)} AND "offset" >= {int(first)} AND "offset" < {int(end)})'
        for topic, partition, first, end in _flat(ranges)
    )


def _flat(ranges: Ranges) -> Iterator[tuple[str, str, int, int]]:
    for topic, held in ranges.items():
        for partition, (first, end) in held.items():
            yield topic, partition, first, end


def _select(table: DeltaTable, columns: str, ranges: Ranges, unreadable: Failed | None = None) -> pa.Table:
    return query(table, f"SELECT {columns} FROM held WHERE {_predicate(ranges)}", unreadable)
