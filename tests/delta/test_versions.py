"""Versions of a table that a query wrote, taken back and put back, on real Delta tables. No JVM."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

from anabranch.delta.table import query
from anabranch.delta.versions import (
    check_versions_are_kept,
    inspect_versions,
    put_versions_back,
    take_versions_back,
)
from anabranch.delta.written_rows import WrittenVersions
from anabranch.errors import AnabranchError

QUERY = "5b1e"


def write(table: Path, batch: int, query_id: str = QUERY) -> None:
    """Two rows, as a batch of the query."""
    rows = pa.table({"customer": [f"{batch}-a", f"{batch}-b"], "day": ["x", "y"]})
    properties = CommitProperties(app_transactions=[Transaction(query_id, batch)])
    write_deltalake(str(table), rows, mode="append", partition_by=["day"], commit_properties=properties)


def rows(table: Path) -> list[str]:
    found = query(DeltaTable(str(table)), 'SELECT "customer" FROM held ORDER BY "customer"')
    return [row["customer"] for row in found.to_pylist()]


def newest(table: Path) -> int | None:
    return DeltaTable(str(table)).transaction_version(QUERY)


def of_batches(*batches: int) -> list[str]:
    return sorted(f"{batch}-{name}" for batch in batches for name in "ab")


def planned(table: Path, batch: int, operation: str = "rewind-1") -> WrittenVersions:
    state = inspect_versions(str(table), QUERY, batch)
    assert state is not None
    assert state.newest is not None
    assert state.why_not == ()
    return WrittenVersions(str(table), operation, QUERY, state.kept, state.rows, state.version, state.newest, batch - 1)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    for batch in range(4):
        write(tmp_path / "out", batch)
    return tmp_path / "out"


@pytest.mark.parametrize("batch", [3, 2, 1, 0])
def test_batches_are_taken_back_once_and_put_back_once_however_often_it_is_asked(table: Path, batch: int) -> None:
    written = planned(table, batch)
    assert written.count == 2 * (4 - batch)
    for _ in range(2):
        take_versions_back(written)
        assert (rows(table), newest(table)) == (of_batches(*range(batch)), batch - 1)
    check_versions_are_kept(written)
    for _ in range(2):
        put_versions_back(written)
        assert (rows(table), newest(table)) == (of_batches(*range(4)), 3)


def test_after_a_rewind_batches_are_written_again_and_can_be_taken_back_again(table: Path) -> None:
    take_versions_back(planned(table, 2))
    for batch in (2, 3, 4):
        write(table, batch)
    second = planned(table, 3, "rewind-2")
    take_versions_back(second)
    assert (rows(table), newest(table)) == (of_batches(0, 1, 2), 2)
    put_versions_back(second)
    assert (rows(table), newest(table)) == (of_batches(*range(5)), 4)


def test_a_table_that_was_compacted_is_taken_back_all_the_same(table: Path) -> None:
    DeltaTable(str(table)).optimize.compact()
    written = planned(table, 2)
    DeltaTable(str(table)).optimize.compact()
    take_versions_back(written)
    assert rows(table) == of_batches(0, 1)
    put_versions_back(written)
    assert rows(table) == of_batches(*range(4))


def test_what_another_has_written_is_not_taken_back_with_it(table: Path) -> None:
    write(table, 0, "another")
    write(table, 4)
    state = inspect_versions(str(table), QUERY, 3)
    assert state is not None
    assert [reason.code for reason in state.why_not] == ["version-of-other"]
    # Behind it there is nothing of another's.
    take_versions_back(planned(table, 4))
    assert rows(table) == sorted(of_batches(*range(4)) + of_batches(0))


def test_what_another_writes_in_between_ends_the_rewind_and_the_undo(table: Path) -> None:
    written = planned(table, 2)
    write(table, 0, "another")
    with pytest.raises(AnabranchError) as refused:
        take_versions_back(written)
    assert refused.value.code == "table-changed-since"
    assert len(rows(table)) == 10


def test_what_another_writes_after_the_rewind_ends_the_undo(table: Path) -> None:
    written = planned(table, 2)
    take_versions_back(written)
    write(table, 0, "another")
    for undo in (check_versions_are_kept, put_versions_back):
        with pytest.raises(AnabranchError) as refused:
            undo(written)
        assert refused.value.code == "table-changed-since"


def test_files_that_a_vacuum_has_removed_are_noticed_before_anything_changes(table: Path) -> None:
    DeltaTable(str(table)).optimize.compact()
    DeltaTable(str(table)).vacuum(0, enforce_retention_duration=False, dry_run=False)
    state = inspect_versions(str(table), QUERY, 2)
    assert state is not None
    assert [reason.code for reason in state.why_not] == ["version-vacuumed"]


def test_a_log_that_no_longer_has_the_versions_is_refused(table: Path) -> None:
    DeltaTable(str(table)).create_checkpoint()
    (table / "_delta_log" / "00000000000000000002.json").unlink()
    state = inspect_versions(str(table), QUERY, 1)
    assert state is not None
    assert [reason.code for reason in state.why_not] == ["log-expired"]
