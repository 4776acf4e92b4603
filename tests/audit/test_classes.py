"""Every way in which a result can be wrong, planted on real parts, is found as itself; and why records were late."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from anabranch.kafka.admin import KafkaAdmin
from anabranch.kafka.records import read_records
from anabranch.spark.session import Session
from tests.support.audits import DAY, audit, classes, key_of, refused, send_results, short, visits
from tests.support.harness import Project
from tests.support.kafka_fixtures import delete_before
from tests.support.remedies import remedies

pytestmark = [pytest.mark.kafka, pytest.mark.in_process]

ON_TIME = [f"07:{minute:02}" for minute in range(60)]
# It closes all of the hour for both: the delay of visits-counter is 10 minutes, that of browsers-stateful 20.
LAST = "08:30"
LATE = ("07:02", "07:02", "07:03", "07:03", "07:04", "07:04", "07:23", "07:24")
PLANTED = {"06:30": "unexpected", "07:00": "late", "07:10": "missing", "07:20": "late", "07:30": "different"}
PLANTED_OF_BROWSERS = {
    "07:00 Safari": "late",
    "07:10 Firefox": "missing",
    "07:20 Safari": "late",
    "07:30 Firefox": "different",
    "07:30 Lynx": "unexpected",
}
OPEN = f"{LAST} Firefox"


@pytest.fixture(scope="module")
def run_project(
    session: Session, kafka: dict[str, str], source: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Project]:
    """One visit a minute, those of each fifth on partition 1. Then late ones, of a browser of their own, on partition 1."""
    project = Project(tmp_path_factory.mktemp("classes"), session)
    sinks = {
        "visits-lake": "",
        "visits-counter": f', sink = "{source}-counts"',
        "browsers-stateful": f', sink = "{source}-browsers"',
    }
    pipelines = "".join(f'[pipeline.{name}]\ntopics = {{ source = "{source}"{sink} }}\n' for name, sink in sinks.items())
    project.configure(f'[kafka]\nbootstrap_servers = "{kafka["bootstrap.servers"]}"\n{pipelines}')
    on_second = [time for time in ON_TIME if time.endswith("5")]
    on_first = [time for time in ON_TIME if time not in on_second]
    project.ok("produce", source, "--partition", "0", text=visits([*on_first, LAST], "Firefox"))
    project.ok("produce", source, "--partition", "1", text="\n".join([visits(on_second, "Opera"), '{"visit_id": 1']))
    project.ok("run", *sinks, "--until-caught-up")
    project.ok("produce", source, "--partition", "1", text=visits(LATE, "Safari"))
    project.ok("run", *sinks, "--until-caught-up")
    yield project
    project.end()


@pytest.fixture(scope="module")
def expired(run_project: Project, kafka: dict[str, str], source: str) -> list[str]:
    """The results of browsers-stateful that partition 0 no longer retains: up to the first that nothing else is wrong with."""
    del run_project
    keys: list[str] = []
    for record in read_records(KafkaAdmin(kafka), f"{source}-browsers"):
        if record.partition == 0 and (not keys or keys[-1] in (*PLANTED_OF_BROWSERS, OPEN)):
            keys.append(short(record.key_text))
    delete_before(kafka, f"{source}-browsers", 0, len(keys))
    return keys


@pytest.fixture(scope="module")
def project(run_project: Project, kafka: dict[str, str], source: str, expired: list[str]) -> Project:
    """After somebody has deleted, changed and added results."""
    del expired
    send_results(kafka, f"{source}-counts", {key_of("07:10"): None, key_of("07:30"): "11", key_of("06:30"): '{"count":1}'})
    send_results(
        kafka,
        f"{source}-browsers",
        {
            key_of("07:10", browser="Firefox"): "",
            key_of("07:30", browser="Firefox"): '{"count":11}',
            key_of("07:30", browser="Lynx"): '{"count":1}',
        },
    )
    return run_project


@pytest.fixture(scope="module")
def counter(project: Project) -> dict[str, Any]:
    return audit(project, "visits-counter", "--all")


@pytest.fixture(scope="module")
def browsers(project: Project) -> dict[str, Any]:
    return audit(project, "browsers-stateful")


def test_each_result_is_of_its_class_and_an_open_window_is_not_judged(counter: dict[str, Any]) -> None:
    assert classes(counter) == {**PLANTED, "07:40": "equal", "07:50": "equal"}
    assert counter["range"] == {"start": f"{DAY}T06:30:00Z", "end": f"{DAY}T08:00:00Z"}
    verdict = counter["verdict"]
    assert [verdict[name] for name in ("windows", "equal", "wrong", "open", "unknown")] == [7, 2, 5, 1, 0]
    assert [verdict[name] for name in ("usable", "not_counted", "completeness")] == [68, 8, 60 / 68]
    assert counter["balance"] == {"in_lake": 69, "counted": 60, "late": 8, "problems": 1, "remainder": 0}
    late = next(one for one in counter["windows"] if short(one["key"]) == "07:00")
    assert [late[name] for name in ("in_lake", "counted", "late", "problems", "operation")] == [16, 10, 6, 0, None]
    assert [json.loads(late[name])["count"] for name in ("emitted", "should_be")] == [10, 16]
    assert counter["notes"] == []


def test_with_two_grouping_columns_in_update_mode_each_key_is_judged_by_itself(
    browsers: dict[str, Any], expired: list[str]
) -> None:
    missing = {key: "missing" for key in expired if key != OPEN}
    assert classes(browsers) == {**missing, **PLANTED_OF_BROWSERS}
    # One more is missing than was deleted.
    assert browsers["verdict"]["results"] == {"different": 1, "equal": 15, "late": 2, "missing": 2, "unexpected": 1}
    assert browsers["balance"] == {"in_lake": 69, "counted": 60, "late": 8, "problems": 1, "remainder": 0}


def test_a_result_that_its_topic_no_longer_retains_is_missing_with_a_note(
    browsers: dict[str, Any], source: str, expired: list[str]
) -> None:
    (note,) = browsers["notes"]
    assert (note["code"], note["params"]["partition"], note["params"]["first"]) == ("results-may-have-expired", 0, len(expired))
    assert note["params"]["topic"] == f"{source}-browsers"


def test_of_each_late_record_it_is_said_why(project: Project, counter: dict[str, Any], source: str) -> None:
    """The newest event of the first batch is of 08:30, the watermark is at 08:20 from then on, and batch 2 reads them."""
    late = counter["late"]
    assert [late[name] for name in ("count", "unread", "least_ms", "median_ms", "most_ms")] == [8, 0, *_ms(50, 70, 70)]
    closing = {"batch": 1, "watermark": f"{DAY}T08:20:00Z", "record": f"{source}:0:54", "event_time": f"{DAY}T08:30:00Z"}
    assert late["closed_by"] == {"window_end": f"{DAY}T07:10:00Z", **closing}
    # After five visits on time and the bad record.
    assert [(one["partition"], one["offset"], one["event_time"][11:16]) for one in late["records"]] == [
        (1, 7 + number, time) for number, time in enumerate(LATE)
    ]
    assert {(one["batch"], one["was_read"], one["watermark"]) for one in late["records"]} == {(2, True, closing["watermark"])}
    assert [one["late_by_ms"] for one in late["records"]] == _ms(*[70] * 6, 50, 50)
    # A second more than would just not have counted it: as lateness has it.
    needed_ms = [one["needed_delay_ms"] for one in late["records"]]
    assert needed_ms == [late_ms + 600_000 + 1000 for late_ms in _ms(*[70] * 6, 50, 50)]
    delays = json.loads(project.ok("lateness", "visits-counter", "--json"))["delays"]
    (every,) = (row for row in delays if "all" in row["marks"])
    assert every["delay_s"] == max(needed_ms) / 1000


def _ms(*minutes: int) -> list[int]:
    return [minute * 60_000 for minute in minutes]


def test_what_late_records_have_in_common_is_named_with_its_factor(
    project: Project, counter: dict[str, Any], browsers: dict[str, Any]
) -> None:
    # Of the windows with late ones: 28 visits, and 18.
    for found, all_on_second, records in ((counter, 10, 28), (browsers, 8, 18)):
        browser, partition = found["late"]["concentrated"]
        assert (browser["field"], browser["value"], browser["late"], browser["of_late"]) == ("browser", "Safari", 8, 8)
        assert (browser["share_of_all"], browser["factor"]) == (8 / records, round(records / 8, 2))
        assert (partition["field"], partition["value"], partition["late"], partition["of_late"]) == ("partition", "1", 8, 8)
        assert (partition["share_of_all"], partition["factor"]) == (all_on_second / records, round(records / all_on_second, 2))
    # Two records have nothing in common that chance does not explain.
    few = audit(project, "visits-counter", "--from", f"{DAY}T07:20Z", "--to", f"{DAY}T07:30Z")
    assert (classes(few), few["late"]["count"], few["late"]["concentrated"]) == ({"07:20": "late"}, 2, [])


def test_the_terminal_says_the_same_and_audits_and_status_keep_it(project: Project, source: str) -> None:
    said = project("audit", "visits-counter")
    assert said.returncode == 4
    head, pinned, _, verdict, _, columns, *rows = said.stdout.splitlines()
    judged = "2025-09-04T06:30Z to 2025-09-04T08:00Z, 7 windows, all closed (watermark 2025-09-04T08:20Z)"
    assert head == f"visits-counter against the lake, {judged}"
    assert pinned.startswith(f"pinned: lake version 1 (69 records), topic:{source}-counts to 0:")
    wrong = "5 of 7 windows are wrong: 8 of 68 usable records are not counted (88 % complete)"
    assert verdict == f"{wrong}; 1 missing, 1 unexpected, 1 different"
    assert columns.split() == ["window", "key", "in", "lake", "counted", "late", "result", "should", "be", "class"]
    assert [row.split()[2:] for row in rows[:5]] == [
        ["2025-09-04T06:40Z", "-", "0", "0", "0", "1", "none", "unexpected"],
        ["2025-09-04T07:10Z", "-", "16", "10", "6", "10", "16", "late"],
        ["2025-09-04T07:20Z", "-", "10", "10", "0", "none", "10", "missing"],
        ["2025-09-04T07:30Z", "-", "12", "10", "2", "10", "12", "late"],
        ["2025-09-04T07:40Z", "-", "10", "10", "0", "11", "10", "different"],
    ]
    ((audit_id, *summary), *_) = (line.split() for line in project.ok("audits").splitlines()[1:])
    assert summary == ["visits-counter", "7", "5", "8", "88", "%"]
    assert rows[5:] == [
        "",
        "balance   69 in the lake = 60 counted + 8 late + 1 with problems, remainder 0",
        "late      by 50m to 1h10m (median 1h10m);"
        " 8 of 8 have browser Safari (29 % of all); 8 of 8 from partition 1 (36 % of all)",
        f"          the watermark passed 2025-09-04T07:10:00Z in batch 1, moved by {source}:0:54 (event 2025-09-04T08:30:00Z)",
        "open      1 window: not judged, the stream will still emit them",
        "next      anabranch explain visits-counter --window 2025-09-04T06:30:00Z",
        f"          anabranch repair visits-counter --audit {audit_id}",
        f"          anabranch repair visits-counter --audit {audit_id} --only different   where the lake is right",
    ]
    assert f"Z: {wrong}" in " ".join(project.ok("status", COLUMNS="400").split())
    last = {one["name"]: one["last_audit"] for one in json.loads(project.ok("status", "--json"))["pipelines"]}
    assert (last["visits-counter"]["id"], last["visits-counter"]["wrong"], last["visits-lake"]) == (audit_id, 5, None)


def test_a_result_is_unexpected_also_where_the_lake_has_no_record_of_any_window(project: Project) -> None:
    found = audit(project, "visits-counter", "--from", f"{DAY}T06:30Z", "--to", f"{DAY}T06:40Z")
    assert (classes(found), found["late"]) == ({"06:30": "unexpected"}, None)
    # The record without a time may be of any window.
    assert found["balance"] == {"in_lake": 1, "counted": 0, "late": 0, "problems": 1, "remainder": 0}


@pytest.fixture
def copied(project: Project, tmp_path: Path) -> Project:
    shutil.copytree(project.directory, tmp_path / "copy")
    return Project(tmp_path / "copy", project.session)


def test_a_lake_that_lacks_a_range_of_offsets_is_refused_with_the_range(copied: Project) -> None:
    lake = DeltaTable(copied.directory / ".anabranch" / "lake" / "visits")
    lake.delete('"partition" = 0 AND "offset" >= 20 AND "offset" < 30')
    code, said = refused(copied, "visits-counter")
    assert code == "lake-incomplete"
    assert "it lacks 10 offsets of partition 0, 20 to 29" in said
    assert 'set table = "PATH" in [pipeline.visits-lake] of anabranch.toml' in said


def test_without_kafka_the_error_says_how_to_get_one(copied: Project) -> None:
    toml = copied.directory / "anabranch.toml"
    settings = toml.read_text(encoding="utf-8")
    for kafka, code, way in (
        ('bootstrap_servers = "127.0.0.1:9"', "kafka-unreachable", "bootstrap_servers"),
        ("", "no-kafka", "anabranch broker start"),
    ):
        toml.write_text(re.sub(r"bootstrap_servers = .*", kafka, settings), encoding="utf-8")
        done = copied("audit", "visits-counter", "--json")
        assert (done.returncode, json.loads(done.stdout)["error"]["code"]) == (1, code), done.stderr
        assert way in "".join(remedies(done.stderr))
        assert "Starting Spark" not in done.stderr
