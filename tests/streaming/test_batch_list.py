"""anabranch history on made-up projects, by the real command: what counts, what was lost, the picture, the width."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from anabranch.checkpoint.history import NewestEvent, WatermarkJump, append_batch, append_rewind, append_undo
from anabranch.streaming.batch_list import Lost, Ran, total_of
from tests.support.desk import Desk
from tests.support.harness import Project
from tests.support.histories import MadeProject, record

REWIND, UNDO = (f"{datetime.now(UTC) - timedelta(minutes=5):%Y%m%dT%H%M%S}-{kind}-1109" for kind in ("rewind", "undo"))


@pytest.fixture
def made(desk: Desk) -> MadeProject:
    return MadeProject(desk.project)


def listed(desk: Desk, *options: str) -> dict[str, Any]:
    code, said = desk("history", "visits-counter", "--json", *options)
    assert code == 0, said
    return dict(json.loads(desk.out))


def batches(found: dict[str, Any]) -> list[int]:
    return [line["batch"] for line in found["lines"] if line["kind"] == "batch"]


def rows(desk: Desk) -> list[list[str]]:
    return [cells for line in desk.out.splitlines() if len(cells := re.split(r"\s{2,}", line)) == 7 and cells[0].isdecimal()]


def test_the_batches_of_the_last_hour_are_listed_with_their_figures_and_totals(desk: Desk, made: MadeProject) -> None:
    made.ran("visits-counter", [record(0, 7200), record(1, 1800), record(2, 60, late=0, duration_ms=None)], batches=3)
    made.ran("visits-windows", [record(0, 60, watermark="1970-01-01T00:00:00.000Z")], batches=1)
    code, said = desk("history", "visits-counter")
    assert (code, [(row[0], *row[2:6]) for row in rows(desk)]) == (
        0,
        [("1", "10", "2", "1", "1.5s"), ("2", "10", "0", "1", "?")],
    )
    assert "2 batches: 20 rows, 2 late, 2 with problems." in said
    assert rows(desk)[0][6] == "2025-09-04 07:00"
    # Spark's before the first event.
    desk("history", "visits-windows")
    assert rows(desk)[0][6] == "-"
    found = listed(desk)
    assert (batches(found), found["torn_lines"], found["sink"]) == ([1, 2], 0, "topic-visits_counter")
    assert (found["totals"]["records"], found["totals"]["late"], found["totals"]["exact"]) == (20, 2, True)
    assert batches(listed(desk, "--last", "3h")) == [0, 1, 2]
    # No calendar goes back so far.
    assert batches(listed(desk, "--last", "30000d")) == [0, 1, 2]


def test_a_period_without_a_batch_names_the_newest(desk: Desk, made: MadeProject) -> None:
    location = made.ran("visits-counter", [record(0, 90_000), record(1, 80_000)], batches=2)
    code, said = desk("history", "visits-counter", "--last", "10m")
    assert (code, "No batch in the last 10m; the newest, 1, is of" in said, "rows" in said) == (0, True, False)
    append_rewind(location, REWIND, 2)
    said = desk("history", "visits-counter", "--last", "10m")[1]
    assert ("No batch in the last 10m; the newest, 1, is of" in said, REWIND in said, "rows" in said) == (True, True, False)


def test_the_newest_20_are_listed_the_others_counted_and_all_are_in_the_picture(desk: Desk, made: MadeProject) -> None:
    made.ran("visits-counter", [record(batch, 60 * (50 - batch)) for batch in range(50)], batches=50)
    desk("history", "visits-counter")
    assert [row[0] for row in rows(desk)] == [str(batch) for batch in range(30, 50)]
    assert "... and 30 older: --all lists them." in desk.out
    assert "50 batches: 500 rows, 100 late, 50 with problems." in desk.out
    picture = next(line for line in desk.out.splitlines() if line.startswith("rows  "))
    # A slice of a minute may have two of them, then its neighbour has none.
    assert sum({"█": 10, "▄": 5}.get(mark, 0) for mark in picture) >= 250
    assert "at most" in desk.out
    desk("history", "visits-counter", "--all")
    assert len(rows(desk)) == 50


def test_a_rewind_and_its_undo_are_lines_of_their_own_and_what_was_taken_back_does_not_count(
    desk: Desk, made: MadeProject
) -> None:
    location = made.ran("visits-counter", [record(batch, 600) for batch in range(4)], batches=4)
    for moved in ("commits/2", "commits/3", "offsets/3"):
        (location.path / moved).unlink()
    append_rewind(location, REWIND, 2)
    found = listed(desk)
    assert (batches(found), found["totals"]["records"]) == ([0, 1], 20)
    assert found["lines"][-1] == {
        "kind": "operation", "operation": REWIND, "undoes": None, "next_batch": 2, "at": found["lines"][-1]["at"],
    }  # fmt: skip
    assert f"{REWIND}: batches from 2 on were taken back" in desk("history", "visits-counter")[1]
    made.ran("visits-counter", [], batches=4)
    append_undo(location, UNDO, REWIND)
    found = listed(desk)
    assert (batches(found), [line["kind"] for line in found["lines"][-2:]]) == ([0, 1, 2, 3], ["operation"] * 2)
    assert f"{UNDO} took {REWIND} back: batch 4 is next" in desk("history", "visits-counter")[1]
    # A batch that ran again counts once, and those behind it no longer do.
    append_batch(location, record(2, 30))
    assert batches(listed(desk)) == [0, 1, 2]


def test_what_was_lost_is_a_question_mark_and_the_totals_are_at_least_these(desk: Desk, made: MadeProject) -> None:
    lost = record(1, 500, records=None, problems=None, late=None, duration_ms=None)
    location = made.ran("visits-counter", [record(0, 600), lost], batches=8)
    with location.history.open("ab") as file:
        file.write(b'{"batch": 2, "tot')
    append_batch(location, record(4, 300, is_exact=False))
    desk("history", "visits-counter")
    assert [row[2:6] for row in rows(desk)] == [["10", "2", "1", "1.5s"], ["?"] * 4, ["~10", "~2", "~1", "1.5s"]]
    assert "batches 2 to 3: the figures were lost" in desk.out
    assert "batches 5 to 7: the figures were lost" in desk.out
    assert "8 batches: ~20+ rows, ~4+ late, ~2+ with problems." in desk.out
    assert "Lines of the history that a crash has torn: 1." in desk.out
    picture = next(line for line in desk.out.splitlines() if line.startswith("rows  "))
    assert "?" in picture
    found = listed(desk)
    assert (found["totals"]["uncounted_batches"], found["torn_lines"]) == (6, 1)


def test_late_records_are_marked_below_the_rows_and_a_jump_is_named_without_its_escapes(desk: Desk, made: MadeProject) -> None:
    location = made.ran("visits-counter", [record(0, 600, late=0), record(1, 500, late=0)], batches=2)
    assert "\nlate " not in desk("history", "visits-counter")[1]
    moved = NewestEvent("2026-09-04T07:20:00Z", "visits\x1b[2J", 0, 24)
    made.ran("visits-counter", [], batches=3)
    append_batch(location, record(2, 30), WatermarkJump(2, "2025-09-04T07:00:00Z", "2026-09-04T07:00:00Z", moved))
    said = desk("history", "visits-counter")[1]
    assert "\nlate " in said
    assert "the watermark jumped by 365d" in said
    assert ("visits\\x1b[2J:0:24" in said.replace("\n  ", ""), "\x1b" in said) == (True, False)
    assert [line["jump"] is not None for line in listed(desk)["lines"]] == [False, False, True]


@pytest.mark.parametrize("columns", [40, 60, 80, 100, 200])
def test_no_line_is_wider_than_the_screen(columns: int, desk: Desk, made: MadeProject, monkeypatch: pytest.MonkeyPatch) -> None:
    location = made.ran("visits-counter", [record(batch, 6000 - batch, records=10**9) for batch in range(30)], batches=40)
    append_rewind(location, REWIND, 30)
    append_batch(location, record(30, 60))
    monkeypatch.setenv("COLUMNS", str(columns))
    assert desk("history", "visits-counter", "--last", "2d", "--all")[0] == 0
    assert max(map(len, desk.out.splitlines())) <= columns
    assert desk.out.count("1,000,000,000") >= 30


def test_a_screen_without_block_characters_gets_a_picture_in_ascii(desk: Desk, made: MadeProject) -> None:
    made.ran("visits-counter", [record(0, 600), record(1, 30)], batches=2)
    plain = Project(desk.project).ok("history", "visits-counter", PYTHONIOENCODING="ascii")
    assert plain.isascii()
    assert "@" in next(line for line in plain.splitlines() if line.startswith("rows  "))


def test_a_pipeline_without_a_watermark_has_no_late_records(desk: Desk, made: MadeProject) -> None:
    made.ran("visits-log", [record(0, 600, late=None, watermark=None)], batches=1)
    said = desk("history", "visits-log")[1]
    assert ("late" in said.split("\n\n")[-1], "1 batch: 10 rows, 1 with problems." in said) == (False, True)


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["visits-counter", "--last", "soon"], 2, "usage[duration-malformed]"),
        (["visits-counter", "--last", "0"], 2, "usage[period-empty]"),
        (["visits-countre"], 2, "did you mean visits-counter?"),
        (["visits-counter"], 2, "usage[never-ran-there]"),
        (["visits-windows"], 2, "-> anabranch history visits-windows --to topic:results"),
        (["visits-log"], 1, "error[history-gone]"),
        (["visits-lake"], 1, "error[history-gone]"),
        (["visits-sessions"], 3, "refused[format-newer]"),
    ],
)
def test_what_has_no_history_is_refused_with_the_reason(
    options: list[str], code: int, said: str, desk: Desk, made: MadeProject
) -> None:
    made.ran("visits-windows", [record(0, 60)], batches=1, to="topic:results")
    made.ran("visits-log", [], batches=3)
    made.ran("visits-lake", [record(batch, 60) for batch in range(5)], batches=3)
    newer = made.ran("visits-sessions", [], batches=3)
    newer.history.write_text('{"format": 9, "kind": "batch-history"}\n', encoding="utf-8")
    found, printed = desk("history", *options)
    assert (found, said in printed) == (code, True), printed


def test_totals_of_a_period_are_not_known_where_no_batch_was_counted_and_late_ones_where_none_was() -> None:
    nothing = total_of([], has_watermark=True)
    assert (nothing.records, nothing.late, nothing.uncounted_batches) == (0, 0, 0)
    lost = total_of([Lost(3, 5)], has_watermark=True)
    assert (lost.batches, lost.records, lost.problems, lost.late, lost.uncounted_batches) == (3, None, None, None, 3)
    ran = Ran(record(0), None)
    assert total_of([ran], has_watermark=False).late is None
    assert total_of([Ran(record(0, late=None), None)], has_watermark=True).late is None
    some = total_of([ran, Ran(record(1, late=None), None)], has_watermark=True)
    assert (some.late, some.late_uncounted_batches, some.uncounted_batches) == (2, 1, 0)
