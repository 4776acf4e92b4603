"""`anabranch explain` on a lake and checkpoints that were drawn: what it prints, and what it refuses. No JVM, no Kafka."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from anabranch.delta.table import query
from tests.support.desk import Desk
from tests.support.drawn_lakes import Batches, draw_ran

SEVEN_MS = 1_756_969_200_000  # 2025-09-04T07:00:00Z


def at(minute: float) -> int:
    return SEVEN_MS + round(minute * 60_000)


# visits-counter: windows of 10 minutes, a delay of 10 minutes. Watermarks: none, 07:15, 07:21, 07:35, 07:35.
BATCHES: Batches = [
    {0: [at(1), at(25)], 1: [at(2), None]},
    {0: [at(31)]},
    {0: [at(9), at(12), at(45)], 1: [at(26)]},
    {1: [at(3), at(44)]},
    {0: [at(50)]},
]


@pytest.fixture
def ran(desk: Desk) -> Desk:
    draw_ran(desk.project, "visits-counter", BATCHES)
    return desk


def explained(desk: Desk, minute: int, *options: str) -> dict[str, Any]:
    time = f"2025-09-04T07:{minute:02}:00Z"
    code, out = desk("explain", "visits-counter", "--window", time, *options, "--json")
    assert code == 0, out
    return dict(json.loads(desk.out))


def numbers(found: dict[str, Any]) -> dict[int, tuple[int | None, int | None]]:
    return {one["batch"]: (one["counted"], one["late"]) for one in found["batches"]}


def test_a_closed_window_tells_who_read_its_records_which_were_late_and_what_closed_it(ran: Desk) -> None:
    found = explained(ran, 5)
    assert (found["start"], found["end"], found["state"]) == ("2025-09-04T07:00:00Z", "2025-09-04T07:10:00Z", "closed")
    # Batch 1 ran with 07:15, so batch 2 dropped the first late one; batch 2 ran with 07:21, so batch 3 the other.
    assert numbers(found) == {0: (2, 0), 2: (0, 1), 3: (0, 1)}
    assert [(one["record"], one["late_by_s"], one["needed_delay_s"]) for one in found["late_records"]] == [
        ("visits:0:3", 5 * 60, 15 * 60 + 1),
        ("visits:1:3", 11 * 60, 21 * 60 + 1),
    ]
    closing = found["closed_by"]
    assert (closing["batch"], closing["watermark"]) == (1, "2025-09-04T07:15:00Z")
    assert (closing["record"], closing["event_time"]) == ("visits:0:1", "2025-09-04T07:25:00Z")
    assert (found["waits"], found["corrections"], found["notes"]) == (None, [], [])


def test_people_see_the_same_in_tables_and_sentences(ran: Desk) -> None:
    code, _ = ran("explain", "visits-counter", "--window", "2025-09-04T07:00Z")
    lines = ran.out.splitlines()
    assert (code, lines[0]) == (0, "visits-counter, 2025-09-04T07:00:00Z to 2025-09-04T07:10:00Z: closed")
    assert lines[1] == "pinned: lake version 0, batches 0 to 4, watermark 2025-09-04T07:35:00Z, delay 10m"
    assert lines[3] == "4 in the lake = 2 counted + 2 late + 0 with problems"
    assert [line.split()[0] for line in lines[5:9]] == ["batch", "0", "2", "3"]
    assert [line.split("  ")[0] for line in lines[10:13]] == ["late record", "visits:0:3", "visits:1:3"]
    assert lines[-1].startswith("closed    by batch 1 of ")
    assert lines[-1].endswith(
        "which ran with the watermark 2025-09-04T07:15:00Z, moved by visits:0:1 (event 2025-09-04T07:25:00Z)"
    )


def test_an_open_window_tells_what_it_waits_for_and_which_partition_is_behind(ran: Desk) -> None:
    found = explained(ran, 40)
    assert (found["state"], numbers(found), found["late"]) == ("open", {2: (1, 0), 3: (1, 0)}, 0)
    waits = found["waits"]
    assert (waits["event_time"], waits["is_due"], waits["unread_in"]) == ("2025-09-04T08:00:00Z", False, [])
    newest = [(one["partition"], one["newest_event"], one["is_behind"]) for one in waits["partitions"]]
    assert newest == [(0, "2025-09-04T07:50:00Z", False), (1, "2025-09-04T07:44:00Z", True)]


def test_a_window_that_the_next_batch_closes_is_said_to_be_due(desk: Desk) -> None:
    draw_ran(desk.project, "visits-counter", [*BATCHES, {1: [at(61)]}])
    assert explained(desk, 40)["waits"]["is_due"] is True


def test_no_more_of_the_past_is_read_than_the_batches_that_tell_of_the_window(ran: Desk) -> None:
    """Those that have read its records, and enough to know whether it is open."""
    assert explained(ran, 40)["first_batch"] == 2
    assert explained(ran, 50)["first_batch"] == 4


def test_a_window_without_a_record_says_so(ran: Desk) -> None:
    code, out = ran("explain", "visits-counter", "--window", "2025-09-04T06:00Z")
    assert (code, "The lake has no record of this window." in out) == (0, True)
    assert explained(ran, 5)["usable"] == 4


def test_batches_that_the_lake_does_not_have_yet_are_left_out_and_said(desk: Desk) -> None:
    draw_ran(desk.project, "visits-counter", BATCHES, lake_behind=2)
    found = explained(desk, 5)
    assert (numbers(found), found["last_batch"], found["behind"]) == ({0: (2, 0), 2: (0, 1)}, 2, 2)
    assert [one["code"] for one in found["notes"]] == ["lake-not-so-far"]


def test_which_record_moved_the_watermark_is_asked_of_the_lake_where_the_batch_has_not_kept_it(desk: Desk) -> None:
    draw_ran(desk.project, "visits-counter", BATCHES, history_from=len(BATCHES))
    closing = explained(desk, 5)["closed_by"]
    assert (closing["batch"], closing["record"], closing["event_time"]) == (1, "visits:0:1", "2025-09-04T07:25:00Z")


def test_of_a_window_that_closed_before_the_oldest_batch_it_is_said_that_it_is_not_known(desk: Desk) -> None:
    """An earlier version kept no ranges, and Spark has purged the logs of the first batches."""
    project = draw_ran(desk.project, "visits-counter", BATCHES, history_from=len(BATCHES))
    (pipeline,) = project.find(["visits-counter"])
    for batch in (0, 1):
        for log in ("offsets", "commits"):
            (project.checkpoint(pipeline).path / log / str(batch)).unlink()
    found = explained(desk, 5)
    assert (found["state"], found["first_batch"], found["usable"]) == ("unknown", 3, 4)
    assert (found["counted"], found["late"], found["late_records"], found["closed_by"]) == (None, None, [], None)
    assert numbers(found) == {3: (None, None)}
    assert found["earlier"] == 3
    # It closed in batch 3, so all that came before was counted.
    later = explained(desk, 20)
    assert (later["state"], later["earlier"], later["counted"], later["late"]) == ("closed", 2, 2, 0)


def test_a_record_with_a_problem_is_of_its_window_if_it_has_a_time(ran: Desk) -> None:
    """One that has none is of no window. That with one has come behind what the stream has read."""
    lake = ran.project / ".anabranch" / "lake" / "visits"
    (row,) = query(DeltaTable(lake), 'SELECT * FROM held WHERE "partition" = 0 AND "offset" = 0').to_pylist()
    row |= {"problem": "visit_id is missing", "offset": 7}
    write_deltalake(lake, pa.Table.from_pylist([row], pa.schema(DeltaTable(lake).schema().to_arrow())), mode="append")
    found = explained(ran, 5)
    assert (found["usable"], found["problems"], found["counted"], found["late"], found["unread"]) == (4, 1, 2, 2, 0)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("visits-sessions", "--window", "2025-09-04T07:00"), 3, "refused[no-windows-close]"),
        (("browsers-stateless", "--window", "2025-09-04T07:00"), 3, "refused[no-windows-close]"),
        (("visits-windows", "--window", "2025-09-04T07:00"), 3, "refused[nothing-to-audit]"),
        (("visits-counter", "--window", "2025-09-04T07:00", "--topic", "another"), 3, "refused[nothing-to-audit]"),
        (("visits-counter", "--window", "seven"), 2, "usage[time-malformed]"),
        (("visits-counter", "--window", "9999-12-31T23:59:59"), 2, "usage[no-such-window]"),
        (("visits-countr", "--window", "2025-09-04T07:00"), 2, "usage[unknown-pipeline]"),
        (("visits-counter",), 2, "usage[command-malformed]"),
        (("visits-counter", "--window", "2025-09-04T07:00", "--key", "{"), 2, "usage[key-malformed]"),
        (("visits-counter", "--window", "2025-09-04T07:00", "--key", '{"browser":"x"}'), 2, "usage[key-malformed]"),
    ],
)
def test_what_cannot_be_told_is_said(ran: Desk, arguments: tuple[str, ...], code: int, words: str) -> None:
    ended, out = ran("explain", *arguments)
    assert (ended, words in out) == (code, True), out


def test_times_are_in_the_zone_of_the_project(ran: Desk) -> None:
    (ran.project / "anabranch.toml").write_text('timezone = "Europe/Paris"\n', encoding="utf-8")
    code, out = ran("explain", "visits-counter", "--window", "2025-09-04T09:05")
    assert (code, "2025-09-04T07:00:00Z to 2025-09-04T07:10:00Z: closed" in out) == (0, True), out
