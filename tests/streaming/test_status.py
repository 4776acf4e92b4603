"""anabranch status on made-up projects, by the real command: what it shows, how wide, and what it says it does not know."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from anabranch.checkpoint.history import NewestEvent, WatermarkJump, append_batch, append_rewind
from anabranch.checkpoint.layout import FENCE
from anabranch.operations.change import JOURNAL
from anabranch.pipeline.builtin.catalog import BUILTIN
from anabranch.storage.files import CheckpointLocation
from anabranch.storage.lease import take_lease
from tests.support.desk import Desk
from tests.support.drawing import write_tree
from tests.support.harness import BOUND, Project
from tests.support.histories import MadeProject, record


@pytest.fixture
def made(desk: Desk) -> MadeProject:
    return MadeProject(desk.project)


def said(desk: Desk, *options: str, code: int = 0) -> dict[str, dict[str, Any]]:
    assert desk("status", "--json", *options)[0] == code, desk.out
    return {one["name"]: one for one in json.loads(desk.out)["pipelines"]}


def row(desk: Desk, name: str = "visits-counter") -> list[str]:
    desk("status")
    return next(line for line in desk.out.splitlines() if line.startswith(name)).split()


def test_only_what_ran_is_shown_and_the_rest_on_demand(desk: Desk, made: MadeProject) -> None:
    code, printed = desk("status")
    assert (code, desk.out) == (0, "")
    assert "anabranch run visits-log" in printed
    assert said(desk) == {}
    made.ran("visits-counter", [record(batch, 30 - 10 * batch) for batch in range(3)], batches=3)
    assert list(said(desk)) == ["visits-counter"]
    assert list(said(desk, "--all")) == [pipeline.name for pipeline in BUILTIN.pipelines]
    desk("status", "--all")
    assert [line.split()[0] for line in desk.out.splitlines()[1:]] == [pipeline.name for pipeline in BUILTIN.pipelines]
    assert "never ran" in desk.out


def test_a_row_has_age_rate_late_and_problems_and_says_that_lag_is_not_known(desk: Desk, made: MadeProject) -> None:
    made.ran("visits-counter", [record(0, 500), record(1, 200, records=600), record(2, 61)], batches=3)
    made.ran("visits-log", [record(0, 10, late=None)], batches=1)
    assert row(desk) == ["visits-counter", "stopped", "2", "1m", "2.0", "?", "2025-09-11", "16:04", "6", "3"]
    assert row(desk, "visits-log")[-2:] == ["-", "1"]
    one = said(desk)["visits-counter"]
    assert (one["state"], one["records"], one["late"], one["exact"], one["uncounted_batches"]) == ("stopped", 620, 6, True, 0)
    assert (one["lag"], one["lag_s"], one["jump"], one["refusals"]) == (None, None, None, [])
    assert 61 <= one["age_s"] < 120
    assert one["last_batch_at"].startswith("20")


@pytest.mark.parametrize("columns", [60, 80, 100, 140])
def test_no_line_is_wider_than_the_screen(columns: int, desk: Desk, made: MadeProject, monkeypatch: pytest.MonkeyPatch) -> None:
    moved = WatermarkJump(
        2, "2025-09-04T07:00:00Z", "2026-09-04T07:00:00Z", NewestEvent("2026-09-04T07:20:00Z", "v" * 200, 0, 24)
    )
    for pipeline in BUILTIN.pipelines:
        made.ran(pipeline.name, [record(0, 90, records=10**9, problems=10**6, late=10**6)], batches=1)
    long = made.ran("visits-windows", [record(0, 50)], batches=3, to="topic:" + "results-" * 20)
    append_batch(long, record(2, 20), moved)
    (long.path / "offsets" / "3").write_text("v1\n{}", encoding="utf-8")
    monkeypatch.setenv("COLUMNS", str(columns))
    assert desk("status", "--all")[0] == 0
    lines = desk.out.splitlines()
    assert max(map(len, lines)) <= columns
    # A figure is whole, or not there.
    assert desk.out.count("1,000,000") >= len(BUILTIN.pipelines)
    assert "visits-windows" in desk.out


def test_without_a_terminal_100_columns_are_enough_for_all_seven(desk: Desk, made: MadeProject) -> None:
    for pipeline in BUILTIN.pipelines:
        made.ran(pipeline.name, [record(0, 90, records=10**9, problems=12_345, late=1_234)], batches=1)
    assert desk("status")[0] == 0
    lines = desk.out.splitlines()
    assert (len(lines), max(map(len, lines)) <= 100, "…" in desk.out) == (8, True, False)


def test_what_a_screen_without_these_characters_gets_is_plain(desk: Desk, made: MadeProject) -> None:
    made.ran("visits-windows", [record(0, 50)], batches=1, to="topic:" + "results-" * 5)
    plain = Project(desk.project).ok("status", COLUMNS="80", PYTHONIOENCODING="ascii")
    assert "..." in plain
    assert plain.isascii()


def test_a_jump_of_the_watermark_is_named_with_the_record_that_made_it_and_nothing_in_it_reaches_the_terminal(
    desk: Desk, made: MadeProject
) -> None:
    location = made.ran("visits-counter", [record(0, 50)], batches=2)
    moved = NewestEvent("2026-09-04T07:20:00Z", "visits\x1b[2J", 0, 24)
    append_batch(location, record(1, 20), WatermarkJump(1, "2025-09-04T07:00:00Z", "2026-09-04T07:00:00Z", moved))
    jump = said(desk)["visits-counter"]["jump"]
    assert (jump["batch"], jump["size_s"], jump["event_time"]) == (1, 365 * 86_400, "2026-09-04T07:20:00Z")
    desk("status")
    assert "visits-counter: the watermark jumped by 365d" in desk.out
    assert "visits\\x1b[2J:0:24" in desk.out.replace("\n  ", "")
    assert "\x1b" not in desk.out


def lose(location: CheckpointLocation) -> None:
    location.history.unlink()


def tear(location: CheckpointLocation) -> None:
    """All of it, its head too."""
    location.history.write_bytes(location.history.read_bytes()[:20])


def empty(location: CheckpointLocation) -> None:
    location.history.write_bytes(b"")


@pytest.mark.parametrize("damage", [lose, tear, empty])
def test_a_history_that_is_gone_or_torn_is_unknown_and_never_0(
    damage: Callable[[CheckpointLocation], None], desk: Desk, made: MadeProject
) -> None:
    damage(made.ran("visits-counter", [record(batch, 50) for batch in range(3)], batches=3))
    one = said(desk)["visits-counter"]
    names = ("records", "problems", "late", "uncounted_batches", "late_from", "exact", "rows_per_s", "jump")
    assert [one[name] for name in names] == [None] * len(names)
    assert "missing or torn" in one["trouble"]
    # Its last batch is in the checkpoint.
    assert one["last_batch_at"] == "2025-09-11T16:04:56.015Z"
    assert row(desk)[-2:] == ["?", "?"]


def test_a_history_that_is_gone_with_the_commits_of_its_batches_is_unknown(desk: Desk, made: MadeProject) -> None:
    location = made.ran("visits-counter", [record(batch, 50) for batch in range(3)], batches=3)
    for commit in (location.path / "commits").iterdir():
        commit.unlink()
    # Batch 2 is planned, so 0 and 1 have ended.
    assert said(desk)["visits-counter"]["records"] is None
    location.history.unlink()
    assert (said(desk)["visits-counter"]["records"], row(desk)[-2:]) == (None, ["?", "?"])


def test_a_history_of_another_timeline_says_nothing_of_this_one(desk: Desk, made: MadeProject) -> None:
    """A checkpoint that was set aside, or restored from a copy, beside the history of what came after."""
    made.ran("visits-counter", [record(batch, 50) for batch in range(9)], batches=3)
    one = said(desk)["visits-counter"]
    assert (one["records"], one["late"], one["problems"]) == (None, None, None)
    assert "another timeline" in one["trouble"]
    made.ran("visits-log", [record(batch, 50) for batch in range(9)], batches=0)
    assert said(desk)["visits-log"]["records"] is None


def test_figures_without_some_batches_are_at_least_these(desk: Desk, made: MadeProject) -> None:
    behind = made.ran("visits-counter", [record(0, 50), record(1, 40)], batches=4)
    made.ran("visits-windows", [record(0, 50), record(1, 40, records=None, problems=None, late=None)], batches=2)
    assert row(desk)[-2:] == ["4+", "2+"]
    assert row(desk, "visits-windows")[-2:] == ["2+", "1+"]
    found = said(desk)
    assert (found["visits-counter"]["records"], found["visits-counter"]["uncounted_batches"]) == (20, 2)
    assert "the figures of 2 batches were lost" in desk("status")[1]
    # A line that a crash has torn, and the batches after it.
    with behind.history.open("ab") as file:
        file.write(b'{"batch": 2, "tot')
    append_batch(behind, record(3, 10))
    assert (row(desk)[-2:], said(desk)["visits-counter"]["uncounted_batches"]) == (["6+", "3+"], 1)


def test_counts_of_a_retried_stage_are_about_and_late_ones_of_an_earlier_version_are_said_to_begin_later(
    desk: Desk, made: MadeProject
) -> None:
    made.ran("visits-windows", [record(0, 50, is_exact=False)], batches=1)
    assert row(desk, "visits-windows")[-2:] == ["~2", "~1"]
    counter = made.ran("visits-counter", [], batches=3)
    old = {"batch": 1, "total_records": 50, "total_problems": 5, "ran": None, "operation": None, "undoes": None}
    counter.history.write_text(f'{{"format": 1, "kind": "batch-history"}}\n{json.dumps(old)}\n', encoding="utf-8")
    (counter.path / "commits" / "2").unlink()
    assert row(desk)[-2:] == ["?", "5"]
    append_batch(counter, record(2, 10))
    (counter.path / "commits" / "2").write_text('v1\n{"nextBatchWatermarkMs":0}', encoding="utf-8")
    assert row(desk)[-2:] == ["2+", "6"]
    assert "late records are counted from batch 2 on" in desk.out


def test_a_rewind_takes_its_batches_out_of_the_figures_and_a_batch_of_the_future_shows_that_clocks_differ(
    desk: Desk, made: MadeProject
) -> None:
    location = made.ran("visits-counter", [record(batch, 50) for batch in range(5)], batches=2)
    append_rewind(location, "20261117T085543-rewind-1109", 2)
    one = said(desk)["visits-counter"]
    assert (one["records"], one["last_batch"], one["trouble"]) == (20, 1, None)
    made.ran("visits-log", [record(0, -600)], batches=1)
    assert row(desk, "visits-log")[3] == "-9m"
    assert -600 <= said(desk)["visits-log"]["age_s"] < -500
    assert "ahead of this machine's clock" in desk("status")[1]


def test_a_pipeline_that_cannot_start_gives_exit_4_with_the_remedy_and_the_others_are_shown(
    desk: Desk, made: MadeProject
) -> None:
    made.ran("visits-log", [record(0, 50)], batches=1)
    fenced = made.ran("visits-counter", [record(0, 50)], batches=1)
    write_tree({"offsets/1": f"{FENCE}\n", JOURNAL: json.dumps({"change": {"operation": "op"}})}, fenced.path)
    found = said(desk, code=4)
    assert {name: one["state"] for name, one in found.items()} == {"visits-log": "stopped", "visits-counter": "blocked"}
    assert [one["code"] for one in found["visits-counter"]["refusals"]] == ["operation-not-finished"]
    code, printed = desk("status")
    assert (code, "-> anabranch resume op" in printed) == (4, True)
    assert row(desk, "visits-log")[1:3] == ["stopped", "0"]
    # Someone works on it: it is not blocked, it is held.
    lease = take_lease(fenced, "visits-counter", "rewind")
    found = said(desk)
    assert (found["visits-counter"]["state"], found["visits-counter"]["refusals"]) == ("rewind", [])
    lease.release()


@pytest.mark.parametrize(
    ("file", "content", "code"),
    [
        ("history", '{"format": 9, "kind": "batch-history"}\n', "format-newer"),
        ("history", "garbage\n", "file-damaged"),
        ("lease", "garbage", "file-damaged"),
        ("baseline", "garbage", "file-damaged"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_what_is_known_and_the_others_are_shown_in_full(
    file: str, content: str, code: str, desk: Desk, made: MadeProject
) -> None:
    location = made.ran("visits-counter", [record(0, 50)], batches=1)
    made.ran("visits-log", [record(0, 50)], batches=1)
    getattr(location, file).write_text(content, encoding="utf-8")
    found = said(desk, code=4)
    assert (found["visits-log"]["records"], found["visits-log"]["refusals"]) == (10, [])
    counter = found["visits-counter"]
    assert ([one["code"] for one in counter["refusals"]], counter["last_batch"]) == ([code], 0)
    assert (counter["records"] is None) == (file == "history")
    assert desk("status")[1].count(f"[{code}]") == 1


@pytest.mark.parametrize("file", ["history", "lease", "baseline", "path"])
def test_a_file_that_may_not_be_read_is_named(file: str, desk: Desk, made: MadeProject) -> None:
    location = made.ran("visits-counter", [record(0, 50)], batches=1)
    path: Path = getattr(location, file)
    path.touch()
    path.chmod(0)
    bound = Project(desk.project)
    bound.prefix = BOUND
    done = bound("status", "--json")
    path.chmod(0o700)
    (counter,) = json.loads(done.stdout)["pipelines"]
    codes = {one["code"] for one in counter["refusals"]}
    assert (done.returncode, codes <= {"not-readable", "permission-denied"}, len(codes)) == (4, True, 1), done.stdout


@pytest.mark.parametrize("file", ["history", "lease", "baseline"])
def test_a_directory_in_the_place_of_a_file_is_named(file: str, desk: Desk, made: MadeProject) -> None:
    location = made.ran("visits-counter", [record(0, 50)], batches=1)
    getattr(location, file).unlink(missing_ok=True)
    getattr(location, file).mkdir()
    counter = said(desk, code=4)["visits-counter"]
    (code,) = (one["code"] for one in counter["refusals"])
    assert (code in ("not-readable", "file-damaged"), counter["last_batch"]) == (True, 0)


def test_a_checkpoint_that_no_run_would_use_blocks_nothing(desk: Desk, made: MadeProject) -> None:
    location = made.ran("visits-counter", [record(0, 50)], batches=1)
    location.path.rename(location.path.with_name("old"))
    write_tree({"offsets/1": f"{FENCE}\n"}, location.path.with_name("old"))
    location.history.rename(location.path.with_name("old.history.jsonl"))
    found = said(desk)["visits-counter"]
    assert (found["sink"], found["state"], found["is_own_sink"]) == ("old", "stopped", False)


def test_a_damaged_log_and_a_watermark_beyond_every_calendar_are_not_known(desk: Desk, made: MadeProject) -> None:
    location = made.ran("visits-counter", [replace(record(0, 50), at="noon")], batches=1)
    (location.path / "commits" / "0").write_text('v1\n{"nextBatchWatermarkMs":999999999999999999}', encoding="utf-8")
    (location.path / "offsets" / "0").write_text("garbage", encoding="utf-8")
    one = said(desk)["visits-counter"]
    assert (one["watermark"], one["age_s"], one["rows_per_s"], one["records"]) == (None, None, None, 10)
