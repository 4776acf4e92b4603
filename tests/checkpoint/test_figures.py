"""What a history says: which batches count, how far its figures can be trusted, and how fast they are. No disk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from time import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.checkpoint.figures import (
    counting,
    figures_of,
    judge_history,
    jump_of,
    lost_behind,
    moment_s,
    period_since,
    rows_per_s,
)
from anabranch.checkpoint.history import EMPTY, HistoryEntry, NewestEvent, WatermarkJump, entry_after, entry_before, entry_below
from tests.support.histories import at, backward, chain, record


def batches_of(entries: list[HistoryEntry]) -> list[int]:
    return [entry.batch for entry in counting(backward(entries)) if entry.ran is not None]


def rewound(entries: list[HistoryEntry], to: int, operation: str = "r") -> HistoryEntry:
    return replace(entry_below(backward(entries), to), batch=to - 1, ran=None, operation=operation, undoes=None)


def undone(entries: list[HistoryEntry], undoes: str = "r") -> HistoryEntry:
    before = entry_before(backward(entries), undoes)
    assert before is not None
    return replace(before, ran=None, operation=f"undo-{undoes}", undoes=undoes)


def test_batches_that_a_rewind_took_back_do_not_count_and_those_of_an_undo_count_again() -> None:
    entries = chain(map(record, range(5)))
    entries.append(rewound(entries, 2))
    assert batches_of(entries) == [1, 0]
    again = [*entries, entry_after(entries[-1], record(2))]
    assert batches_of(again) == [2, 1, 0]
    back = [*entries, undone(entries)]
    assert batches_of(back) == [4, 3, 2, 1, 0]
    assert [entry.operation for entry in counting(backward(back)) if entry.ran is None] == ["undo-r", "r"]


@given(st.lists(st.tuples(st.sampled_from(["run", "again", "rewind", "undo"]), st.integers(0, 9)), max_size=30))
def test_the_records_of_the_batches_that_count_are_the_total_of_the_newest_line(steps: list[tuple[str, int]]) -> None:
    entries: list[HistoryEntry] = []
    last = ""
    for number, (step, size) in enumerate(steps):
        newest = entries[-1].batch if entries else -1
        if step in ("run", "again"):
            batch = newest if step == "again" and newest >= 0 else newest + 1
            entries.append(entry_after(entry_below(backward(entries), batch), record(batch, records=size)))
            last = ""
        elif step == "rewind" and newest >= 0:
            last = f"r{number}"
            entries.append(rewound(entries, size % (newest + 1), last))
        elif step == "undo" and last:
            entries.append(undone(entries, last))
            last = ""
        counted = [entry.ran.records for entry in counting(backward(entries)) if entry.ran is not None]
        assert sum(one or 0 for one in counted) == (entries[-1].total_records if entries else 0)


@pytest.mark.parametrize(
    ("entry", "committed", "code"),
    [
        (None, None, None),
        (None, 4, "history-missing"),
        (replace(EMPTY, batch=4), 4, None),
        (replace(EMPTY, batch=2), 4, None),
        (replace(EMPTY, batch=5), 4, "history-ahead"),
        (replace(EMPTY, batch=0), None, "history-ahead"),
        # All was taken back.
        (EMPTY, None, None),
    ],
)
def test_a_history_that_is_gone_or_of_another_timeline_is_told(
    entry: HistoryEntry | None, committed: int | None, code: str | None
) -> None:
    found = judge_history(entry, committed, "the history")
    assert (found.code if found else None) == code


@pytest.mark.parametrize(
    ("batch", "committed", "is_running", "lost"),
    [(4, 4, False, 0), (3, 4, False, 1), (3, 4, True, 0), (2, 4, True, 2), (-1, 0, False, 1), (-1, None, False, 0)],
)
def test_batches_behind_the_history_are_lost_but_for_the_one_under_way(
    batch: int, committed: int | None, is_running: bool, lost: int
) -> None:
    assert lost_behind(replace(EMPTY, batch=batch), committed, is_running=is_running) == lost


def test_late_records_are_not_known_where_they_were_not_counted_and_are_none_without_a_watermark() -> None:
    newest = chain([record(0), record(1)])[-1]
    assert figures_of(newest, drops_late=True).late == 4
    assert figures_of(newest, drops_late=False).late is None
    # Of format 1: no batch was counted yet.
    assert figures_of(replace(newest, late_from=2), drops_late=True).late is None
    assert figures_of(replace(newest, late_from=1), drops_late=True).late == 4
    uncounted = chain([record(0), record(1, late=None)])[-1]
    assert figures_of(uncounted, drops_late=True).late is None
    lost = chain([record(0), record(1, records=None, problems=None, late=None)])[-1]
    known = figures_of(lost, drops_late=True, lost=3)
    assert (known.late, known.records, known.uncounted_batches) == (2, 10, 4)
    assert figures_of(EMPTY, drops_late=True).late == 0


def rate(*records: tuple[float, int | None]) -> float | None:
    """Of batches that started so long ago, each with so many records."""
    entries = chain(record(batch, age_s, records=read) for batch, (age_s, read) in enumerate(records))
    return rows_per_s(backward(entries), time())


def test_the_rate_is_that_of_the_last_five_minutes_or_since_the_first_batch() -> None:
    assert rate() == 0.0
    assert rate((400, 9000), (200, 600), (10, 300)) == pytest.approx(3.0)
    assert rate((100, 600), (10, 400)) == pytest.approx(10.0, rel=0.01)
    assert rate((9000, 600)) == 0.0


def test_the_rate_is_not_known_where_a_batch_was_not_counted_was_lost_or_is_of_another_clock() -> None:
    assert rate((200, 600), (10, None)) is None
    assert rate((400, None), (10, 300)) == pytest.approx(1.0)
    assert rate((-50, 600)) is None
    lost = chain([record(0, 100), record(2, 50)])
    assert rows_per_s(backward(lost), time()) is None
    assert rows_per_s(backward([replace(lost[0], ran=replace(record(0), at="noon"))]), time()) is None


def test_the_rate_of_a_fast_query_takes_a_bounded_number_of_lines() -> None:
    entries = chain(record(batch, 200 - batch / 10) for batch in range(2000))
    taken = 0

    def lines() -> Iterator[HistoryEntry]:
        nonlocal taken
        for entry in backward(entries):
            taken += 1
            yield entry

    assert rows_per_s(lines(), time()) == pytest.approx(100, rel=0.05)
    assert taken <= 501


def test_a_period_takes_no_more_lines_than_it_needs_and_counts_those_that_are_torn() -> None:
    entries = chain(record(batch, 100 - batch) for batch in range(100))

    def lines() -> Iterator[HistoryEntry | None]:
        yield None
        yield from backward(entries[89:])
        raise AssertionError("a line before the period was read")

    found = period_since(lines(), time() - 10.5, lambda _operation: None)
    assert [entry.batch for entry in found.entries] == list(range(90, 100))
    assert (found.torn_lines, found.is_whole, found.lost) == (1, True, [])


def test_a_period_has_its_operations_and_the_batches_whose_lines_were_lost() -> None:
    entries = chain([record(0, 50), record(1, 40), record(5, 30)])
    entries.append(rewound(entries, 6, "now"))
    found = period_since(backward(entries), time() - 60, lambda _operation: time())
    assert [(entry.batch, entry.operation) for entry in found.entries] == [(0, None), (1, None), (5, None), (5, "now")]
    assert (found.lost, found.is_whole) == ([range(2, 5)], False)
    assert period_since(backward(entries), time() - 1, lambda _operation: time()).entries == entries[-1:]


def test_a_jump_names_its_size_and_the_record_that_made_it() -> None:
    jump = WatermarkJump(
        3, "2025-09-04T07:00:00Z", "2025-09-05T08:00:00Z", NewestEvent("2025-09-05T08:20:00Z", "visits", 0, 24)
    )
    said = jump_of(jump).describe()
    assert (said.params["size"], said.params["by"].params["record"]) == ("1d1h", "visits:0:24")
    assert jump_of(replace(jump, before="?", moved_by=None)).describe().params["size"] == "?"


def test_a_moment_that_no_calendar_has_is_not_known() -> None:
    assert moment_s("2025-09-04T07:00:00.000Z") == 1756969200.0
    assert moment_s("2025-09-04T07:00:00") == 1756969200.0
    assert (moment_s("noon"), moment_s("")) == (None, None)
    assert moment_s(at(0)) == pytest.approx(time(), abs=1)
