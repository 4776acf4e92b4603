"""The versions of a Delta table that a streaming query wrote, taken back and put back: each in one commit, as in table.py.

For tables whose rows do not say which records they are from, such as results. Only where the query is the table's one writer:
what another has written in between would be taken back too. Files that were compacted are no obstacle.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

from anabranch.delta import messages
from anabranch.delta.table import (
    check_changeable,
    check_writable,
    commit_properties,
    last_mark,
    open_existing,
    open_table,
    read_commit,
    retry_on_conflict,
    set_transaction,
    step_of,
)
from anabranch.delta.written_rows import WrittenVersions
from anabranch.errors import Reason


@dataclass(frozen=True)
class VersionsState:
    """What a plan needs to know of a table."""

    version: int
    newest: int | None
    why_not: tuple[Reason, ...]
    # As in WrittenVersions.
    kept: int
    rows: int


def inspect_versions(path: str, query_id: str, batch: int) -> VersionsState | None:
    """What the batches from this one on have written. None: there is no table."""
    table = open_table(path)
    if table is None:
        return None
    check_writable(path)
    newest = table.transaction_version(query_id)
    if newest is None or newest < batch:
        return VersionsState(table.version(), newest, (), table.version(), 0)
    kept, why_not = _kept(path, table.version(), query_id, batch)
    why_not += list(check_changeable(table))
    before = open_table(path, kept) if kept >= 0 and not why_not else None
    if before is not None:
        why_not += list(_missing_files(before, Path(path)))
    rows = _rows(table) - (_rows(before) if before is not None else 0)
    return VersionsState(table.version(), newest, tuple(why_not), kept, rows)


def _kept(path: str, version: int, query_id: str, batch: int) -> tuple[int, list[Reason]]:
    """The version before those of the batches; and why they cannot be taken back."""
    first, others = version + 1, {}
    for number in range(version, -1, -1):
        commit = read_commit(path, number)
        if not commit.actions:
            return first - 1, [messages.LOG_EXPIRED(version=number)]
        written = commit.transaction(query_id)
        if written is not None and written < batch:
            break
        if written is not None:
            first = number
        elif commit.changes_table:
            others[number] = str(commit.info.get("operation", "?"))
    between = [number for number in others if number > first]
    return first - 1, [messages.VERSION_OF_OTHER(version=number, operation=others[number]) for number in between[-1:]]


def _missing_files(table: DeltaTable, directory: Path) -> Iterator[Reason]:
    actions: list[dict[str, Any]] = pa.table(table.get_add_actions()).to_pylist()
    missing = [action["path"] for action in actions if not (directory / action["path"]).exists()]
    if missing:
        yield messages.VERSION_VACUUMED(version=table.version(), files=len(missing))


def _rows(table: DeltaTable) -> int:
    return sum(int(action["num_records"] or 0) for action in pa.table(table.get_add_actions()).to_pylist())


def take_versions_back(written: WrittenVersions) -> None:
    retry_on_conflict(written.table, lambda: _take_back(written))


def put_versions_back(written: WrittenVersions) -> None:
    retry_on_conflict(written.table, lambda: _put_back(written))


def check_versions_are_kept(written: WrittenVersions) -> None:
    """That an undo will find what it has to restore, and nothing that came since."""
    mark = last_mark(written)
    table = open_existing(written.table)
    if mark is None:
        raise messages.ROWS_VACUUMED(operation=written.rewind, path=written.table)
    _check_unchanged(written, int(mark["version"]), table.version())
    if list(_missing_files(open_existing(written.table, int(mark["version"]) - 1), Path(written.table))):
        raise messages.ROWS_VACUUMED(operation=written.rewind, path=written.table)


def _take_back(written: WrittenVersions) -> None:
    table = open_existing(written.table)
    if step_of(written) == "out":
        return
    since = last_mark(written)
    _check_unchanged(written, int(since["version"]) if since else written.version, table.version())
    properties = commit_properties(written, written.set_back_to, "out")
    if written.kept >= 0:
        table.restore(written.kept, commit_properties=properties)
    elif table.delete(commit_properties=properties)["num_deleted_rows"] == 0:
        set_transaction(open_existing(written.table), properties)


def _put_back(written: WrittenVersions) -> None:
    table = open_existing(written.table)
    if step_of(written) == "in":
        return
    mark = last_mark(written)
    assert mark is not None
    _check_unchanged(written, int(mark["version"]), table.version())
    table.restore(int(mark["version"]) - 1, commit_properties=commit_properties(written, written.newest, "in"))


def _check_unchanged(written: WrittenVersions, since: int, version: int) -> None:
    for number in range(since + 1, version + 1):
        if read_commit(written.table, number).changes_table:
            raise messages.TABLE_CHANGED_SINCE(path=written.table, version=number)
