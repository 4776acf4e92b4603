"""Rows of a real Delta table, deleted and restored without Spark. With the queries that write it: tests/rewind/test_lake.py."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

from anabranch.delta.table import (
    check_rows_are_kept,
    delete_rows,
    inspect_table,
    newest_batch,
    restore_rows,
    retry_on_conflict,
)
from anabranch.delta.written_rows import WrittenRows
from anabranch.errors import Failed
from tests.support.harness import PATIENCE_S

QUERY = "2d01b0bc-d1c6-4e4b-b0cf-21b6155f3c1a"
TOPIC = "it's"


@pytest.fixture
def rows(tmp_path: Path) -> WrittenRows:
    """A table of ten records that a query wrote with its batches 0 to 4; those from offset 6 on are to be deleted."""
    table = str(tmp_path / "table")
    append(table, TOPIC, *range(10))
    return WrittenRows(table, "a-rewind", QUERY, {TOPIC: {"0": (6, 10)}}, count=4, version=0, newest=4, set_back_to=2)


def offsets(rows: WrittenRows) -> list[int]:
    return sorted(row["offset"] for row in DeltaTable(rows.table).to_pyarrow_table().to_pylist())


def test_rows_and_the_transaction_are_set_back_and_restored_however_often_each_is_done(rows: WrittenRows) -> None:
    for _ in range(2):
        delete_rows(rows)
        assert (offsets(rows), newest_batch(rows.table, QUERY)) == ([*range(6)], 2)
    check_rows_are_kept(rows)
    for _ in range(2):
        restore_rows(rows)
        assert (offsets(rows), newest_batch(rows.table, QUERY)) == ([*range(10)], 4)


def test_rows_are_deleted_and_restored_while_another_writer_appends_and_compacts(rows: WrittenRows) -> None:
    enough, written = Event(), 0

    def work() -> None:
        nonlocal written
        while not enough.is_set():
            written += 1
            retry_on_conflict(rows.table, partial(append, rows.table, "another's", -written))
            retry_on_conflict(rows.table, lambda: DeltaTable(rows.table).optimize.compact())

    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(work)
        try:
            for number in range(8):
                again = replace(rows, rewind=f"rewind {number}", version=DeltaTable(rows.table).version())
                delete_rows(again)
                assert (offsets(rows)[-1], newest_batch(rows.table, QUERY)) == (5, 2)
                restore_rows(again)
        finally:
            enough.set()
        working.result(PATIENCE_S)
    assert offsets(rows) == [*range(-written, 0), *range(10)]


def append(table: str, topic: str, *offsets: int) -> None:
    held = len(offsets)
    records = {"topic": [topic] * held, "partition": pa.array([0] * held, pa.int32()), "offset": pa.array(offsets, pa.int64())}
    properties = CommitProperties(app_transactions=[Transaction(QUERY, 4)]) if topic == TOPIC else None
    write_deltalake(table, pa.table(records), mode="append", commit_properties=properties)


def test_rows_whose_files_a_vacuum_removed_are_reported_before_anything_moves(rows: WrittenRows) -> None:
    delete_rows(rows)
    DeltaTable(rows.table).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    with pytest.raises(Failed) as failed:
        check_rows_are_kept(rows)
    assert failed.value.code == "rows-vacuumed"
    assert failed.value.reason.params == {"operation": "a-rewind", "path": rows.table}


def test_a_table_that_is_gone_is_reported_wherever_it_is_needed(rows: WrittenRows) -> None:
    Path(rows.table).rename(f"{rows.table}.old")
    assert inspect_table(rows.table, QUERY, rows.ranges) is None
    for needed in (delete_rows, restore_rows, check_rows_are_kept):
        with pytest.raises(Failed) as failed:
            needed(rows)
        assert (failed.value.code, failed.value.reason.params) == ("table-gone", {"path": rows.table})


def test_a_table_that_lacks_a_file_is_not_planned_with(rows: WrittenRows) -> None:
    next(Path(rows.table).glob("*.parquet")).unlink()
    with pytest.raises(Failed) as failed:
        inspect_table(rows.table, QUERY, rows.ranges)
    assert (failed.value.code, failed.value.reason.params["path"]) == ("table-unreadable", rows.table)
