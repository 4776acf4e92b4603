"""The history of batches: totals that stand for the batches that count, over re-runs, rewinds, undos and torn lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.checkpoint.history import (
    EMPTY,
    HISTORY,
    BatchRecord,
    HistoryEntry,
    append_batch,
    append_rewind,
    append_undo,
    entry_after,
    entry_before,
    entry_below,
    newest_entry,
    newest_first,
    take_back,
)
from anabranch.errors import AnabranchError
from anabranch.storage.files import CheckpointLocation


@pytest.fixture
def location(tmp_path: Path) -> CheckpointLocation:
    return CheckpointLocation(tmp_path / "console")


def ran(batch: int, records: int = 10, problems: int = 1) -> BatchRecord:
    return BatchRecord(batch, "2025-09-04T07:00:00.000Z", records, problems, 2, True, 5.0, 20, None, None)


def totals(location: CheckpointLocation) -> tuple[int, int, int]:
    entry = newest_entry(location) or EMPTY
    return entry.batch, entry.total_records, entry.total_problems


def test_every_line_carries_the_totals_so_far(location: CheckpointLocation) -> None:
    assert totals(location) == (-1, 0, 0)
    for batch in range(3):
        append_batch(location, ran(batch))
    assert totals(location) == (2, 30, 3)
    first, *lines = location.history.read_text(encoding="utf-8").splitlines()
    assert json.loads(first) == {"format": 3, "kind": "batch-history"}
    assert [json.loads(line)["total_records"] for line in lines] == [10, 20, 30]


def test_a_batch_that_ran_again_counts_once(location: CheckpointLocation) -> None:
    append_batch(location, ran(0))
    append_batch(location, ran(1, records=7))
    append_batch(location, ran(1, records=10))
    assert totals(location) == (1, 20, 2)


def test_a_rewind_takes_batches_out_of_the_totals_and_an_undo_puts_them_back(location: CheckpointLocation) -> None:
    for batch in range(6):
        append_batch(location, ran(batch))
    append_rewind(location, "r1", 2)
    append_rewind(location, "r1", 2)
    assert totals(location) == (1, 20, 2)
    append_undo(location, "u1", "r1")
    assert totals(location) == (5, 60, 6)
    append_rewind(location, "r2", 4)
    assert totals(location) == (3, 40, 4)
    append_batch(location, ran(4, records=100))
    assert totals(location) == (4, 140, 5)
    append_rewind(location, "r3", 0)
    assert totals(location) == (-1, 0, 0)


def test_a_rolled_back_operation_leaves_the_totals_as_they_were(location: CheckpointLocation) -> None:
    for batch in range(4):
        append_batch(location, ran(batch))
    append_rewind(location, "r1", 1)
    take_back(location, "r1")
    take_back(location, "r1")
    assert totals(location) == (3, 40, 4)
    append_rewind(location, "r2", 1)
    append_undo(location, "u2", "r2")
    take_back(location, "u2")
    assert totals(location) == (0, 10, 1)


def test_a_torn_line_is_skipped_and_the_next_one_is_whole(location: CheckpointLocation) -> None:
    append_batch(location, ran(0))
    append_batch(location, ran(1))
    with location.history.open("rb+") as file:
        file.truncate(location.history.stat().st_size - 20)
    assert totals(location) == (0, 10, 1)
    append_batch(location, ran(1))
    append_batch(location, ran(2))
    assert totals(location) == (2, 30, 3)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{"format": 4, "kind": "batch-history"}\n', "format-newer"),
        ('{"format": 1, "kind": "other"}\n', "format-newer"),
        ("garbage\n", "file-damaged"),
        (
            '{"format": 1, "kind": "batch-history"}\n'
            '{"batch": 0, "total_records": 1, "total_problems": 0, "ran": null, "operation": "x", "undoes": null, "new": 3}\n',
            "format-newer",
        ),
    ],
)
def test_what_a_newer_version_wrote_is_refused_and_not_added_to(text: str, code: str, location: CheckpointLocation) -> None:
    location.history.write_text(text, encoding="utf-8")
    uses: tuple[Callable[[], object], ...] = (lambda: newest_entry(location), lambda: append_batch(location, ran(1)))
    for use in uses:
        with pytest.raises(AnabranchError) as refused:
            use()
        assert refused.value.code == code
    assert location.history.read_text(encoding="utf-8") == text


def test_the_newest_line_of_a_million_is_read_without_the_others(location: CheckpointLocation) -> None:
    """The others have unknown fields: reading any of them would be refused."""
    line = json.dumps(HISTORY.as_json(replace(EMPTY, batch=5, total_records=50, total_problems=5, ran=ran(5))))
    head = json.dumps(HISTORY.head)
    location.history.write_text(f"{head}\n" + f"{json.dumps({'unknown': 1})}\n" * 1_000_000 + f"{line}\n", encoding="utf-8")
    assert totals(location) == (5, 50, 5)
    append_batch(location, ran(6))
    assert totals(location) == (6, 60, 6)


def test_a_batch_without_figures_is_counted_as_such_and_never_as_zero(location: CheckpointLocation) -> None:
    append_batch(location, ran(0))
    append_batch(location, replace(ran(1), records=None, problems=None, late=None))
    append_batch(location, ran(4))
    entry = newest_entry(location)
    assert entry is not None
    assert (entry.total_records, entry.total_problems, entry.total_late, entry.uncounted) == (20, 2, 4, 3)
    append_rewind(location, "r1", 1)
    entry = newest_entry(location)
    assert entry is not None
    assert (entry.total_records, entry.uncounted) == (10, 0)


def test_a_history_that_is_gone_leaves_what_it_held_unknown(location: CheckpointLocation) -> None:
    for batch in range(3):
        append_batch(location, ran(batch))
    location.history.unlink()
    assert newest_entry(location) is None
    append_batch(location, ran(3))
    entry = newest_entry(location)
    assert entry is not None
    assert (entry.total_records, entry.uncounted) == (10, 3)


def test_a_history_of_format_1_is_continued_and_says_from_where_late_records_are_counted(location: CheckpointLocation) -> None:
    old = {"batch": 4, "total_records": 50, "total_problems": 5, "ran": None, "operation": None, "undoes": None}
    location.history.write_text(f'{{"format": 1, "kind": "batch-history"}}\n{json.dumps(old)}\n', encoding="utf-8")
    append_batch(location, ran(5))
    entry = newest_entry(location)
    assert entry is not None
    assert (entry.total_records, entry.total_late, entry.late_from, entry.uncounted) == (60, 2, 5, 0)
    head, first, _ = location.history.read_text(encoding="utf-8").splitlines()
    assert (json.loads(head), json.loads(first)) == ({"format": 3, "kind": "batch-history"}, old)


def test_a_history_of_format_2_is_continued_and_where_its_batches_read_is_not_known(location: CheckpointLocation) -> None:
    """As the version before wrote it, with a rewind: its lines stay as they are."""
    append_batch(location, ran(0))
    append_batch(location, ran(1))
    append_rewind(location, "r1", 1)
    head, *lines = map(json.loads, location.history.read_text(encoding="utf-8").splitlines())
    new = ("ranges", "planned_at", "committed_at", "phases_ms", "state_rows", "code")
    old = [{**one, "ran": one["ran"] and {name: one["ran"][name] for name in one["ran"] if name not in new}} for one in lines]
    text = "".join(f"{json.dumps(one)}\n" for one in ({**head, "format": 2}, *old))
    location.history.write_text(text, encoding="utf-8")
    assert [entry.ran for entry in newest_first(location)] == [None, ran(1), ran(0)]
    record = replace(ran(1), ranges={"visits": {0: (10, 20), 11: (5, 5)}}, phases_ms={"addBatch": 7}, state_rows=3, code="0a1b")
    append_batch(location, record)
    assert [entry.ran for entry in newest_first(location)] == [record, None, ran(1), ran(0)]
    assert totals(location) == (1, 20, 2)
    found = list(map(json.loads, location.history.read_text(encoding="utf-8").splitlines()))
    assert found[:-1] == [{"format": 3, "kind": "batch-history"}, *old]
    assert found[-1]["ran"]["ranges"] == {"visits": {"0": [10, 20], "11": [5, 5]}}


class _Plain:
    """The slow and obvious history: all batches that count, and the states to return to."""

    def __init__(self) -> None:
        self.batches: dict[int, int] = {}
        self.before: dict[str, dict[int, int]] = {}

    def total(self) -> tuple[int, int]:
        return max(self.batches, default=-1), sum(self.batches.values())


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["run", "again", "rewind", "undo", "roll back"]), st.integers(0, 9)), max_size=40))
def test_any_history_has_the_totals_of_a_plain_one(steps: list[tuple[str, int]]) -> None:
    entries: list[HistoryEntry] = []
    plain, last_operation = _Plain(), ""
    for number, (step, size) in enumerate(steps):
        newest = max(plain.batches, default=-1)
        if step in ("run", "again"):
            batch = newest if step == "again" and newest >= 0 else newest + 1
            below = entry_below(_backward(entries), batch)
            entries.append(entry_after(below, ran(batch, size)))
            plain.batches = {**{n: r for n, r in plain.batches.items() if n < batch}, batch: size}
            last_operation = ""
        elif step == "rewind" and newest >= 0:
            to, name = size % (newest + 1), f"r{number}"
            plain.before[name] = plain.batches
            entries.append(replace(entry_below(_backward(entries), to), batch=to - 1, ran=None, operation=name, undoes=None))
            plain.batches = {n: r for n, r in plain.batches.items() if n < to}
            last_operation = name
        elif last_operation:
            name = f"u{number}"
            before = entry_before(_backward(entries), last_operation)
            assert before is not None
            plain.before[name], plain.batches = plain.batches, plain.before[last_operation]
            entries.append(replace(before, ran=None, operation=name, undoes=last_operation))
            # An undo can be rolled back, once.
            last_operation = name if step == "roll back" and last_operation.startswith("r") else ""
        top = entries[-1] if entries else EMPTY
        assert (top.batch, top.total_records) == plain.total()


def _backward(entries: list[HistoryEntry]) -> Iterator[HistoryEntry]:
    return iter(entries[::-1])
