"""A history is completed from the logs: no committed batch is missing, and none of another query counts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.checkpoint.checkpoint import Checkpoint
from anabranch.checkpoint.figures import counting
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
from anabranch.checkpoint.reconcile import CHECKPOINT_REPLACED, counting_entry, reconcile
from anabranch.storage.files import CheckpointLocation
from anabranch.text.format import iso_utc, parse_instant
from tests.support.drawing import checkpoint_of, without

FORMATS = Path(__file__).parents[1] / "golden" / "formats"
BEGIN_MS, TRIGGER_MS, A_BATCH = 1_757_606_666_015, 15_000, 10


@pytest.fixture
def location(tmp_path: Path) -> CheckpointLocation:
    return CheckpointLocation(tmp_path / "console")


def logs(
    committed: int,
    *,
    planned: int | None = None,
    begin_ms: int = BEGIN_MS,
    still: int | None = None,
    purged: Sequence[str] = (),
) -> Checkpoint:
    """Each batch reads 10 records but for one that stands still."""
    tree, end = {"sources/0/0": 'v1\n{"visits":{"0":0}}'}, 0
    for batch in range((committed if planned is None else planned) + 1):
        end += 0 if batch == still else A_BATCH
        head = {"batchWatermarkMs": 1000 * batch, "batchTimestampMs": begin_ms + batch * TRIGGER_MS, "conf": {}}
        tree[f"offsets/{batch}"] = f'v1\n{json.dumps(head)}\n{{"visits":{{"0":{end}}}}}'
        if batch <= committed:
            tree[f"commits/{batch}"] = f'v1\n{{"nextBatchWatermarkMs":{1000 * (batch + 1)}}}'
    return checkpoint_of(without(tree, *purged))


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


def test_a_batch_that_was_planned_at_another_time_is_of_another_query(location: CheckpointLocation) -> None:
    """It may have come from the logs, without the time that it took."""
    reconcile(location, logs(5))
    reconcile(location, logs(5))
    assert [entry.batch for entry in newest_first(location)] == [5, 4, 3, 2, 1, 0]
    assert reconcile(location, logs(2, begin_ms=BEGIN_MS + 3_600_000)) == 2
    # What is below the line of the replaced checkpoint no longer counts.
    assert [(entry.batch, entry.operation) for entry in newest_first(location)][:4] == [
        *((batch, None) for batch in (2, 1, 0)),
        (-1, CHECKPOINT_REPLACED),
    ]
    assert [entry.batch for entry in counting(newest_first(location)) if entry.ran is not None] == [2, 1, 0]
    assert figures(newest(location)) == (2, 30, 0, 3)


def test_batches_that_spark_has_purged_stay_in_it_and_those_that_no_line_tells_of_are_counted_as_lost(
    location: CheckpointLocation,
) -> None:
    for batch in range(4):
        append_batch(location, ran(batch))
    purged = [f"{log}/{batch}" for log in ("offsets", "commits") for batch in range(6)]
    assert reconcile(location, logs(8, purged=purged)) == 8
    found = {entry.batch: entry.ran for entry in counting(newest_first(location)) if entry.ran is not None}
    assert list(found) == [8, 7, 6, 3, 2, 1, 0]
    # Where the oldest that is left began went with the batch before it.
    assert [found[batch] and found[batch].ranges for batch in (6, 7)] == [None, {"visits": {0: (70, 80)}}]
    assert figures(newest(location)) == (8, 60, 4, 5)


def test_as_many_batches_as_the_logs_still_have_are_added_also_by_a_start_that_is_killed_meanwhile(
    location: CheckpointLocation,
) -> None:
    kept = logs(2_345)
    assert reconcile(location, kept) == 2_345
    content = location.history.read_bytes()
    entries = list(newest_first(location))
    assert [entry.batch for entry in entries] == list(range(2_345, -1, -1))
    assert all(entry.ran is not None and entry.ran.ranges is not None for entry in entries)
    for size in (len(content) // 3, len(content) - 1000):
        location.history.write_bytes(content[:size])
        assert reconcile(location, kept) == 2_345
        assert list(newest_first(location)) == entries


def test_a_rewind_behind_batches_that_left_no_line_does_not_take_them_for_empty_ones(location: CheckpointLocation) -> None:
    append_batch(location, ran(0))
    append_rewind(location, "r1", 4)
    assert figures(newest(location)) == (3, 10, 1, 3)


@pytest.mark.parametrize("number", [1, 2])
def test_a_history_of_an_earlier_version_is_continued_and_what_it_did_not_hold_is_not_known(
    number: int, location: CheckpointLocation
) -> None:
    line = json.loads((FORMATS / f"batch-history-{number}.json").read_text(encoding="utf-8"))
    head, old = {name: line.pop(name) for name in ("format", "kind")}, json.dumps(line)
    location.history.write_text(f"{json.dumps(head)}\n{old}\n", encoding="utf-8")
    known = newest(location)
    assert (known.ran and known.batch, known.total_records) == (7, 800)
    begin_ms = round(parse_instant(line["ran"]["at"], "UTC").timestamp() * 1000) - 7 * TRIGGER_MS
    assert reconcile(location, logs(9, begin_ms=begin_ms)) == 9
    nine, eight, seven = newest_first(location)
    assert seven == known
    assert [entry.ran and entry.ran.ranges for entry in (nine, eight)] == [
        {"visits": {0: (90, 100)}},
        {"visits": {0: (80, 90)}},
    ]
    assert figures(nine) == (9, 820, 12, known.uncounted + 2)
    ran = seven.ran
    assert ran is not None
    unknown = [ran.ranges, ran.planned_at, ran.committed_at, ran.phases_ms, ran.state_rows, ran.code]
    assert unknown + ([] if number > 1 else [ran.late, ran.duration_ms, ran.newest_event]) == [None] * (6 if number > 1 else 9)
    # From where on late records are counted stays as it was.
    assert nine.late_from == known.late_from == (8 if number == 1 else 3)
    assert location.history.read_text(encoding="utf-8").splitlines()[:2] == [json.dumps(HISTORY.head), old]


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
