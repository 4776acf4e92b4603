"""`anabranch lateness` on a lake and checkpoints that were drawn: what it prints, and what it refuses. No JVM, no Kafka."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from tests.support.desk import Desk
from tests.support.drawn_lakes import Batches, draw_ran

SEVEN_MS = 1_756_969_200_000  # 2025-09-04T07:00:00Z


def at(minute: float) -> int:
    return SEVEN_MS + round(minute * 60_000)


# visits-counter: windows of 10 minutes, a delay of 10 minutes.
BATCHES: Batches = [
    {0: [at(1), at(25)], 1: [at(2), None]},
    {0: [at(31)]},
    # Batch 0 had reached 07:25. 07:09 needs 15 minutes and more; 07:12 needs 5.
    {0: [at(9), at(12), at(45)], 1: [at(26)]},
    # Batch 1 had reached 07:31. 07:03 needs 21 minutes.
    {1: [at(3), at(44)]},
    {0: [at(50)]},
]
HEAD = "visits-counter, all times: 11 records in 6 windows, by batches 0 to 4 and version 0 of the lake"


@pytest.fixture
def ran(desk: Desk) -> Desk:
    draw_ran(desk.project, "visits-counter", BATCHES)
    return desk


def found(desk: Desk, *options: str) -> dict[str, Any]:
    code, out = desk("lateness", "visits-counter", *options, "--json")
    assert code == 0, out
    return dict(json.loads(desk.out))


def late_by_delay(report: dict[str, Any]) -> dict[float, tuple[int, int]]:
    return {row["delay_s"] / 60: (row["late"], row["windows_wrong"]) for row in report["delays"]}


def test_the_table_has_what_each_delay_would_have_counted(ran: Desk) -> None:
    report = found(ran)
    by_delay = late_by_delay(report)
    # Two of the window to 07:10, by 15 and 21 minutes; one of that to 07:20, by 5.
    assert (by_delay[0], by_delay[5], by_delay[10], by_delay[20]) == ((3, 2), (3, 2), (2, 1), (1, 1))
    (every,) = (row for row in report["delays"] if "all" in row["marks"])
    assert (every["delay_s"], every["late"], every["windows_wrong"], every["later_s"]) == (21 * 60 + 1, 0, 0, 11 * 60 + 1)
    (today,) = (row for row in report["delays"] if "today" in row["marks"])
    assert (today["delay_s"], today["late"], today["later_s"]) == (600, 2, 0)
    assert (report["records"], report["windows"], report["dropped"], report["left_out"]) == (11, 6, 2, 0)
    assert (report["basis"], report["first_batch"], report["last_batch"], report["behind"]) == ("events", 0, 4, 0)
    assert (report["start"], report["end"], report["delay_s"]) == (None, None, 600)


def test_people_see_what_was_looked_at_a_row_for_each_delay_and_what_follows(ran: Desk) -> None:
    code, _ = ran("lateness", "visits-counter")
    head, _, titles, *lines = ran.out.splitlines()
    assert (code, head) == (0, HEAD)
    assert re.split(r"\s{2,}", titles) == ["delay", "records late", "of all", "windows wrong", "windows close"]
    assert re.split(r"\s{2,}", lines[0]) == ["0", "3", "27 %", "2", "10m earlier"]
    cells = [re.split(r"\s{2,}", line) for line in lines]
    assert ["10m", "today", "2", "18 %", "1", "as today"] in cells
    assert ["21m1s", "99.9 %, 99.99 %, all", "0", "0 %", "0", "11m1s later"] in cells
    advice = " ".join(" ".join(lines[lines.index("") :]).split())
    assert advice == (
        "A delay of 21m1s would have counted all of them and closed windows 11m1s later."
        " Over these 11 records; another day may differ."
    )


def test_of_a_range_whole_windows_count(ran: Desk) -> None:
    report = found(ran, "--from", "2025-09-04T07:11Z", "--to", "2025-09-04T07:19Z")
    assert (report["start"], report["end"]) == ("2025-09-04T07:10:00Z", "2025-09-04T07:20:00Z")
    assert (report["records"], report["windows"], report["dropped"]) == (1, 1, 0)
    assert late_by_delay(report)[0] == (1, 1)
    assert found(ran, "--from", "2025-09-04T07:20Z")["records"] == 6
    assert found(ran, "--to", "2025-09-04T07:20Z")["records"] == 5


def test_of_a_range_without_records_nothing_is_advised(ran: Desk) -> None:
    code, out = ran("lateness", "visits-counter", "--from", "2025-09-05T07:00Z")
    assert (code, "0 records in 0 windows" in out, "nothing can be said of a delay" in out) == (0, True, True)


def test_what_a_history_does_not_tell_is_told_from_the_watermarks(desk: Desk) -> None:
    """The logs have the ranges and watermarks of all batches, and the newest events of none."""
    draw_ran(desk.project, "visits-counter", BATCHES, history_from=4)
    report = found(desk)
    assert report["basis"] == "watermarks"
    assert late_by_delay(report)[10] == (2, 1)
    assert "told from their watermarks" in " ".join(desk("lateness", "visits-counter")[1].split())


def test_batches_that_the_lake_does_not_have_yet_are_not_in_the_figures(desk: Desk) -> None:
    draw_ran(desk.project, "visits-counter", BATCHES, lake_behind=2)
    report = found(desk)
    assert (report["last_batch"], report["behind"], report["records"], report["dropped"]) == (2, 2, 8, 1)
    assert "The lake is 2 batches behind the stream" in desk("lateness", "visits-counter")[1]


def test_an_emitted_result_is_no_later_where_results_are_emitted_as_they_change(desk: Desk) -> None:
    draw_ran(desk.project, "visits-windows", BATCHES)
    code, out = desk("lateness", "visits-windows")
    assert (code, "Results are emitted as they change, whatever the delay" in out) == (0, True)


def test_the_picture_is_one_file_that_needs_nothing_else_in_light_and_in_dark(ran: Desk) -> None:
    file = ran.project / "lateness.svg"
    code, out = ran("lateness", "visits-counter", "--svg", str(file))
    assert (code, f"Drawn into {file}" in out) == (0, True)
    text = file.read_text(encoding="utf-8")
    root = ElementTree.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "@media (prefers-color-scheme: dark)" in text
    assert not re.search(r"<script|@import|@font-face|href|url\(", text)
    assert text.count("http") == 1
    words = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"today: 10m", "all counted: 21m1s", "records late, of 11", "windows wrong, of 6"} <= set(words)


@pytest.mark.parametrize(
    ("batches", "delay"),
    [([{0: [at(1)]}], "a single record"), ([{0: [None], 1: [None]}], "only problems"), ([{0: [at(1)]}] * 3, "never late")],
)
def test_a_picture_is_drawn_however_little_there_is(desk: Desk, batches: Batches, delay: str) -> None:
    draw_ran(desk.project, "visits-counter", batches)
    file = desk.project / f"{delay}.svg"
    assert desk("lateness", "visits-counter", "--svg", str(file))[0] == 0
    ElementTree.fromstring(file.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("visits-sessions",), 3, "refused[no-windows-close]"),
        (("browsers-stateless",), 3, "refused[no-windows-close]"),
        (("visits-log",), 3, "refused[no-windows-close]"),
        (("visits-counter", "--topic", "another"), 3, "refused[nothing-to-audit]"),
        (("visits-counter", "--from", "2025-09-04T08:00", "--to", "2025-09-04T08:00"), 3, "refused[empty-times]"),
        (("visits-counter", "--from", "eight"), 2, "usage[time-malformed]"),
        (("visits-countr",), 2, "usage[unknown-pipeline]"),
    ],
)
def test_what_cannot_be_told_is_said(ran: Desk, arguments: tuple[str, ...], code: int, words: str) -> None:
    ended, out = ran("lateness", *arguments)
    assert (ended, words in out) == (code, True), out


def test_without_a_batch_nothing_can_be_told(desk: Desk) -> None:
    code, out = desk("lateness", "visits-counter")
    assert (code, "refused[" in out) == (3, True), out


def test_a_file_that_cannot_be_written_fails_with_its_name(ran: Desk, tmp_path: Path) -> None:
    missing = tmp_path / "no-such" / "lateness.svg"
    code, out = ran("lateness", "visits-counter", "--svg", str(missing))
    assert (code, str(missing) in out) == (1, True), out


def test_where_the_watermarks_are_those_of_another_delay_it_is_said_how_many_were_really_dropped(desk: Desk) -> None:
    """The batches ran with a delay of 10 minutes; without a baseline, today's is what the settings say."""
    draw_ran(desk.project, "visits-counter", BATCHES)
    (desk.project / "anabranch.toml").write_text('[pipeline.visits-counter]\nwatermark = "20m"\n', encoding="utf-8")
    report = found(desk)
    assert (report["delay_s"], late_by_delay(report)[20], report["dropped"]) == (1200, (1, 1), 2)
    assert "Really dropped were 2" in " ".join(desk("lateness", "visits-counter")[1].split())
