"""`anabranch explain` beside real runs: late records, an open window, windows that slide, one key, and after a repair."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from anabranch.kafka.admin import KafkaAdmin
from anabranch.spark.session import Session
from tests.support.harness import Project

pytestmark = [pytest.mark.kafka, pytest.mark.in_process]

TAG = uuid4().hex[:8]
FILE, ORDERS = f"streams_{TAG}.py", f"orders-{TAG}"
PIPELINES = ("revenue", "sliding", "places", "shops", "held")
# It clears a screen, ends a text of SQL and one of JSON, where it is not escaped.
HOSTILE = "\x1b[2Je'v\\e\""
DAY = "2025-09-04"


def orders(times: Iterable[str], customer: str | None) -> list[str]:
    return [
        json.dumps({"customer": customer, "shop": "Rue", "amount": 2.5, "placed_at": f"{DAY}T{time}:00Z"}) for time in times
    ]


@pytest.fixture(scope="module")
def project(
    session: Session, kafka: dict[str, str], topics: KafkaAdmin, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Project]:
    """07:00 to 07:10 was closed by an order of 07:25; then three orders of it came late, to the other partition."""
    project = Project(tmp_path_factory.mktemp("explain"), session)
    project.configure(f'pipelines = ["{FILE}"]\n[kafka]\nbootstrap_servers = "{kafka["bootstrap.servers"]}"\n')
    text = (Path(__file__).parent / "own_streams.py").read_text(encoding="utf-8")
    (project.directory / FILE).write_text(text.replace('"TAG"', f'"{TAG}"'), encoding="utf-8")
    topics.create(ORDERS, 2)
    topics.find(ORDERS)
    on_time = [*orders(["07:01", "07:02", "07:08"], "ada"), *orders(["07:03"], HOSTILE), *orders(["07:06"], None)]
    on_time += orders(["07:25"], "ada")
    for partition, lines in ((0, on_time), (1, [*orders(["07:04", "07:09"], "ada"), *orders(["07:05"], HOSTILE)])):
        project.ok("produce", ORDERS, "--partition", str(partition), text="\n".join(lines))
        project.ok("run", f"{ORDERS}-lake", *PIPELINES, "--until-caught-up")
    yield project
    project.end()


def explained(project: Project, name: str, time: str, *options: str) -> dict[str, Any]:
    return dict(json.loads(project.ok("explain", name, "--window", f"{DAY}T{time}Z", *options, "--json")))


def numbers(found: dict[str, Any]) -> tuple[int, int, int]:
    return found["usable"], found["counted"], found["late"]


def test_late_records_are_those_that_the_stream_dropped_by_the_batch_that_read_them(project: Project) -> None:
    found = explained(project, "revenue", "07:00")
    assert (found["state"], numbers(found)) == ("closed", (8, 5, 3))
    (first, dropping) = found["batches"]
    assert ((first["counted"], first["late"]), (dropping["counted"], dropping["late"])) == ((5, 0), (0, 3))
    assert first["planned_at"] < first["committed_at"] < dropping["planned_at"] < dropping["committed_at"]
    # Of the stream's own account, by its history.
    ran = {one["batch"]: one["late"] for one in json.loads(project.ok("history", "revenue", "--json"))["lines"]}
    assert (ran[first["batch"]], ran[dropping["batch"]]) == (0, 3)
    assert [one["record"] for one in found["late_records"]] == [f"{ORDERS}:1:{offset}" for offset in range(3)]
    assert {(one["batch"], one["watermark"]) for one in found["late_records"]} == {
        (dropping["batch"], f"{DAY}T07:20:00Z"),
    }
    # The greatest event time was 07:25, 15 minutes behind the window's end.
    assert {(one["late_by_s"], one["needed_delay_s"]) for one in found["late_records"]} == {(600, 901)}
    assert (found["closed_by"]["record"], found["closed_by"]["event_time"]) == (f"{ORDERS}:0:5", f"{DAY}T07:25:00Z")
    assert first["batch"] < found["closed_by"]["batch"] < dropping["batch"]
    assert first["committed_at"] < found["closed_at"] < dropping["planned_at"]


def test_an_open_window_waits_for_any_partition_and_a_silent_one_is_named(project: Project) -> None:
    found = explained(project, "revenue", "07:20")
    assert (found["state"], numbers(found)) == ("open", (1, 1, 0))
    waits = found["waits"]
    assert (waits["event_time"], waits["is_due"]) == (f"{DAY}T07:35:00Z", False)
    assert [(one["newest_event"], one["is_behind"]) for one in waits["partitions"]] == [
        (f"{DAY}T07:25:00Z", True),
        (f"{DAY}T07:09:00Z", True),
    ]
    # What came last came to the other partition.
    assert waits["partitions"][0]["silent_s"] > 0 == waits["partitions"][1]["silent_s"]


def test_of_windows_that_slide_each_has_its_own_late_records(project: Project) -> None:
    """07:25 closed all that end by 07:20."""
    ambiguous = project("explain", "sliding", "--window", f"{DAY}T07:03Z")
    assert (ambiguous.returncode, "usage[window-ambiguous]" in ambiguous.stderr) == (2, True)
    assert f"-> anabranch explain sliding --window {DAY}T06:55:00Z" in ambiguous.stderr
    assert numbers(explained(project, "sliding", "06:55")) == (4, 3, 1)
    assert numbers(explained(project, "sliding", "07:05")) == (4, 2, 2)
    assert explained(project, "sliding", "07:15")["state"] == "open"


def test_of_one_key_its_records_are_shown_and_its_results(project: Project) -> None:
    found = explained(project, "revenue", "07:00", "--key", '{"customer": "ada"}')
    assert found["key"] == f'{{"window_start":"{DAY}T07:00:00.000Z","customer":"ada"}}'
    assert (numbers(found), found["problems"]) == ((5, 3, 2), None)
    assert [one["record"] for one in found["late_records"]] == [f"{ORDERS}:1:0", f"{ORDERS}:1:1"]
    result = found["result"]
    assert (json.loads(result["should_be"])["revenue"], json.loads(result["counted"])["revenue"]) == (12.5, 7.5)
    (emitted,) = result["emitted"]
    assert (json.loads(emitted["value"])["revenue"], emitted["origin"]) == (7.5, "stream")
    assert int(emitted["batch"]) == found["closed_by"]["batch"]
    # The whole key, as a topic has it, means the same.
    assert explained(project, "revenue", "07:00", "--key", found["key"]) == found


def test_a_value_that_is_missing_is_a_key_too(project: Project) -> None:
    found = explained(project, "revenue", "07:00", "--key", '{"customer": null}')
    assert (numbers(found), json.loads(found["key"])["customer"], len(found["result"]["emitted"])) == ((1, 1, 0), None, 1)


def test_of_a_table_the_result_is_computed_and_the_window_alone_may_be_the_key(project: Project) -> None:
    found = explained(project, "held", "07:00", "--key", "{}")
    assert (numbers(found), found["result"]["emitted"]) == ((8, 5, 3), [])
    result = found["result"]
    assert (json.loads(result["should_be"])["revenue"], json.loads(result["counted"])["revenue"]) == (20.0, 12.5)


def test_what_events_say_does_nothing_to_the_screen(project: Project) -> None:
    said = project.ok("explain", "revenue", "--window", f"{DAY}T07:00Z", "--key", json.dumps({"customer": HOSTILE}))
    assert "2 in the lake = 1 counted + 1 late" in said
    assert "\x1b" not in said


@pytest.mark.parametrize(
    ("pipeline", "key", "code"),
    [
        ("places", {"place": "RUE"}, "key-computed"),
        ("shops", {"shop": "RUE"}, "key-not-by-fields"),
        ("revenue", {"customer": 5, "window_start": f"{DAY}T08:00:00Z"}, "key-malformed"),
    ],
)
def test_where_the_records_of_a_key_cannot_be_told_none_are_made_up(
    project: Project, pipeline: str, key: dict[str, object], code: str
) -> None:
    refused = project("explain", pipeline, "--window", f"{DAY}T07:00Z", "--key", json.dumps(key), "--json")
    assert json.loads(refused.stdout)["error"]["code"] == code


def test_a_repair_is_named_and_what_came_after_it(project: Project) -> None:
    project.ok("repair", "revenue", "--yes")
    (repair,) = explained(project, "revenue", "07:00")["corrections"]
    assert (repair["kind"], repair["state"]) == ("repair", "done")
    found = explained(project, "revenue", "07:00", "--key", '{"customer": "ada"}')
    assert (found["since_correction"], [one["origin"] for one in found["result"]["emitted"]]) == (0, ["stream", "repair"])
    assert found["result"]["emitted"][1]["operation"] == repair["operation"]
    project.ok("produce", ORDERS, "--partition", "1", text=orders(["07:06"], "ada")[0])
    project.ok("run", f"{ORDERS}-lake", "revenue", "--until-caught-up")
    later = explained(project, "revenue", "07:00")
    assert (numbers(later), later["since_correction"]) == ((9, 5, 4), 1)
    assert "1 record came after the last of them" in project.ok("explain", "revenue", "--window", f"{DAY}T07:00Z")
