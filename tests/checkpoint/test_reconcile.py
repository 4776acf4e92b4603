"""A history is completed from the logs: no committed batch is missing, and none of another query counts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.checkpoint.checkpoint import Checkpoint
from anabranch.checkpoint.history import (
    EMPTY,
    HISTORY,
    BatchRecord,
    HistoryEntry,
    append_batch,
    append_rewind,
    newest_entry,
    newest_first,
)
from anabranch.checkpoint.reconcile import counting_entry, reconcile
from anabranch.storage.files import CheckpointLocation
from anabranch.text.format import iso_utc
from tests.support.drawing import checkpoint_of

BEGIN_MS, TRIGGER_MS, A_BATCH = 1_757_606_666_015, 15_000, 10


@pytest.fixture
def location(tmp_path: Path) -> CheckpointLocation:
    return CheckpointLocation(tmp_path / "console")


def logs(committed: int, *, planned: int | None = None, begin_ms: int = BEGIN_MS, still: int | None = None) -> Checkpoint:
    """Each batch reads 10 records but for one that stands still."""
    tree, end = {"sources/0/0": 'v1\n{"visits":{"0":0}}'}, 0
    for batch in range((committed if planned is None else planned) + 1):
        end += 0 if batch == still else A_BATCH
        head = {"batchWatermarkMs": 1000 * batch, "batchTimestampMs": begin_ms + batch * TRIGGER_MS, "conf": {}}
        tree[f"offsets/{batch}"] = f'v1\n{json.dumps(head)}\n{{"visits":{{"0":{end}}}}}'
        if batch <= committed:
            tree[f"commits/{batch}"] = f'v1\n{{"nextBatchWatermarkMs":{1000 * (batch + 1)}}}'
    return checkpoint_of(tree)


def ran(batch: int, begin_ms: int = BEGIN_MS) -> BatchRecord:
    at = iso_utc(begin_ms + batch * TRIGGER_MS - 200)
    return BatchRecord(batch, at, A_BATCH, 1, 2, True, 5.0, 300, None, None)


def newest(location: CheckpointLocation) -> HistoryEntry:
    return newest_entry(location) or EMPTY


def figures(entry: HistoryEntry) -> tuple[int, int, int, int]:
    return entry.batch, entry.total_records, entry.total_problems, entry.uncounted


def test_batches_whose_events_were_lost_are_in_it_with_what_the_logs_tell(location: CheckpointLocation) -> None:
    append_batch(location, ran(0))
    assert reconcile(location, logs(3, planned=4, still=2)) == 3
    assert figures(newest(location)) == (3, 30, 1, 2)
    found = {entry.batch: entry.ran for entry in newest_first(location)}
    assert list(found) == [3, 2, 1, 0]
    at = iso_utc(BEGIN_MS + 3 * TRIGGER_MS)
    ranges = {"visits": {0: (20, 30)}}
    assert found[3] == BatchRecord(
        3, at, A_BATCH, None, None, True, None, None, "1970-01-01T00:00:03Z", None, ranges=ranges, planned_at=at
    )
    # A batch that has read nothing has no problems.
    assert found[2] is not None
    assert (found[2].records, found[2].problems, found[2].late) == (0, 0, 0)


def test_a_history_that_is_whole_is_left_as_it_is(location: CheckpointLocation) -> None:
    for batch in range(4):
        append_batch(location, ran(batch))
    text = location.history.read_text(encoding="utf-8")
    assert reconcile(location, logs(3)) == 3
    assert reconcile(location, logs(3), below=2) == 3
    assert location.history.read_text(encoding="utf-8") == text


def test_only_batches_below_one_are_added_where_its_own_event_has_come(location: CheckpointLocation) -> None:
    append_batch(location, ran(0))
    assert reconcile(location, logs(3), below=3) == 2
    assert figures(newest(location)) == (2, 30, 1, 2)


@pytest.mark.parametrize("whole_lines", range(5))
def test_a_history_that_is_torn_or_gone_has_every_batch_again(whole_lines: int, location: CheckpointLocation) -> None:
    for batch in range(4):
        append_batch(location, ran(batch))
    text = location.history.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    for torn in (0, 1, len(lines[whole_lines]) // 2, len(lines[whole_lines]) - 1):
        location.history.write_text("".join(lines[:whole_lines]) + lines[whole_lines][:torn], encoding="utf-8")
        assert reconcile(location, logs(3)) == 3
        # A last line that lacks only its end is whole.
        known = max(0, whole_lines - 1) + (whole_lines > 0 and torn == len(lines[whole_lines]) - 1)
        assert figures(newest(location)) == (3, 40, known, 4 - known)
    location.history.unlink()
    reconcile(location, logs(3))
    assert figures(newest(location)) == (3, 40, 0, 4)


def test_batches_of_a_checkpoint_that_was_moved_away_do_not_count(location: CheckpointLocation) -> None:
    for batch in range(6):
        append_batch(location, ran(batch))
    later_ms = BEGIN_MS + 3_600_000
    nothing_yet = logs(-1, planned=0, begin_ms=later_ms)
    assert figures(counting_entry(location, nothing_yet)) == figures(EMPTY)
    reconcile(location, nothing_yet)
    assert figures(newest(location)) == (-1, 0, 0, 0)
    # Also where the events of the new query's first batches were lost.
    reconcile(location, logs(1, begin_ms=later_ms))
    assert figures(newest(location)) == (1, 20, 0, 2)
    append_batch(location, ran(2, later_ms))
    assert figures(newest(location)) == (2, 30, 1, 2)
    assert reconcile(location, logs(2, begin_ms=later_ms)) == 2


def test_entries_of_the_same_numbers_and_another_query_are_told_by_their_time(location: CheckpointLocation) -> None:
    for batch in range(6):
        append_batch(location, ran(batch))
    assert reconcile(location, logs(7, begin_ms=BEGIN_MS + 3_600_000)) == 7
    assert figures(newest(location)) == (7, 80, 0, 8)


def test_after_a_rewind_the_batches_that_ran_again_are_added(location: CheckpointLocation) -> None:
    for batch in range(6):
        append_batch(location, ran(batch))
    append_rewind(location, "r1", 2)
    assert reconcile(location, logs(1, planned=2)) == 1
    assert reconcile(location, logs(3)) == 3
    assert figures(newest(location)) == (3, 40, 2, 2)


def test_a_head_that_is_not_there_is_written_before_the_first_line(location: CheckpointLocation) -> None:
    head = json.dumps(HISTORY.head)
    for text in ("", head[:7], head):
        location.history.write_text(text, encoding="utf-8")
        append_batch(location, ran(0))
        assert location.history.read_text(encoding="utf-8").startswith(f"{head}\n{{")
        assert figures(newest(location)) == (0, 10, 1, 0)


@settings(max_examples=60)
@given(lost=st.sets(st.integers(0, 7)), starts=st.sets(st.integers(0, 7)))
def test_whatever_events_are_lost_every_batch_has_exactly_one_line_that_counts(
    tmp_path_factory: pytest.TempPathFactory, lost: set[int], starts: set[int]
) -> None:
    location = CheckpointLocation(tmp_path_factory.mktemp("history") / "console")
    recorded = -1
    for batch in range(8):
        if batch in starts:
            recorded = reconcile(location, logs(batch - 1, planned=batch))
        if batch not in lost:
            if batch > recorded + 1:
                reconcile(location, logs(batch), below=batch)
            append_batch(location, replace(ran(batch), late=0))
            recorded = batch
    reconcile(location, logs(7))
    assert [entry.batch for entry in newest_first(location)] == [*range(7, -1, -1)]
    assert figures(newest(location)) == (7, 80, 8 - len(lost), len(lost))
