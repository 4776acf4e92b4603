"""Reprocess on the real broker: what it refuses, a plan that becomes stale while a person thinks, a kill while it sends."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from anabranch.kafka.admin import KafkaAdmin
from anabranch.kafka.records import GroupProducer, Received, latest_by_key, read_records
from anabranch.reprocess.messages import NEWER_RESULT
from anabranch.spark.session import Session
from tests.support.harness import Project

pytestmark = [pytest.mark.kafka, pytest.mark.in_process]

# So many results that sending them takes a while: 20 groups, each acknowledged before the next.
BROWSERS = 10_000
SEVEN = ("--from", "2025-09-04T07:00Z", "--to", "2025-09-04T07:10Z")
MANY = ("--from", "2025-09-04T07:20Z", "--to", "2025-09-04T07:25Z")
SEVEN_KEY = '{"window_start":"2025-09-04T07:00:00.000Z"}'


class Results:
    """A topic of results, seen and written from outside."""

    def __init__(self, kafka: Mapping[str, str], name: str) -> None:
        self.name, self._kafka, self._admin = name, kafka, KafkaAdmin(kafka)

    def all(self) -> list[Received]:
        return list(read_records(self._admin, self.name))

    def send(self, key: str, value: str) -> None:
        GroupProducer(self._kafka, self.name).send([(key.encode(), value.encode())])


@pytest.fixture(scope="module")
def counts(source: str, kafka: dict[str, str]) -> Results:
    return Results(kafka, f"{source}-counts")


@pytest.fixture(scope="module")
def browsers(source: str, kafka: dict[str, str]) -> Results:
    return Results(kafka, f"{source}-browsers")


@pytest.fixture(scope="module")
def project(
    session: Session,
    kafka: dict[str, str],
    source: str,
    counts: Results,
    browsers: Results,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Project]:
    """Closed windows that the stream has counted and the lake has: 3 visits at 7, and one of each of many browsers."""
    project = Project(tmp_path_factory.mktemp("reprocess"), session)
    sinks = {
        "visits-lake": "",
        "visits-counter": f', sink = "{counts.name}"',
        "browsers-stateful": f', sink = "{browsers.name}"',
    }
    pipelines = "".join(f'[pipeline.{name}]\ntopics = {{ source = "{source}"{sink} }}\n' for name, sink in sinks.items())
    project.configure(f'[kafka]\nbootstrap_servers = "{kafka["bootstrap.servers"]}"\n{pipelines}')
    many = [_visit("07:21", f"browser {number}") for number in range(BROWSERS)]
    visits = [_visit("07:00"), _visit("07:01"), _visit("07:02"), *many, _visit("09:00")]
    project.ok("produce", source, "--partition", "0", text="\n".join(visits))
    project.ok("run", *sinks, "--until-caught-up")
    _make_bad_by_earlier_rules(project.directory / ".anabranch" / "lake" / "visits", offset=2)
    yield project
    project.end()


def _visit(time: str, browser: str = "Firefox") -> str:
    return json.dumps({"visit_id": 1, "event_time": f"2025-09-04T{time}:00Z", "browser": browser})


def _make_bad_by_earlier_rules(lake: Path, offset: int) -> None:
    """The row as an older decoder might have left it: with a problem, without a time, and so in no hour."""
    table = DeltaTable(lake)
    rows = table.to_pyarrow_dataset().to_table()
    row = rows.filter(pa.compute.field("offset") == offset).to_pylist()[0]
    unknown = dict.fromkeys(("event_time", "year", "month", "day", "hour"))
    table.delete(f"`offset` = {offset}")
    bad = pa.Table.from_pylist([{**row, **unknown, "problem": "an earlier rule"}], rows.schema)
    write_deltalake(table, bad, mode="append")


NINE = ("--from", "2025-09-04T09:00Z", "--to", "2025-09-04T09:01Z")


@pytest.mark.parametrize(
    ("arguments", "environment", "code", "params"),
    [
        (("visits-log", *SEVEN), {}, "no-windows", {"pipeline": "visits-log"}),
        (("visits-sessions", *SEVEN), {}, "no-windows", {"pipeline": "visits-sessions"}),
        (("browsers-stateless", *SEVEN), {}, "counts-per-batch", {"pipeline": "browsers-stateless"}),
        (("visits-windows", *SEVEN), {}, "no-result-topic", {"pipeline": "visits-windows"}),
        (("visits-counter", *SEVEN, "--topic", "another"), {}, "never-ran", {"pipeline": "visits-counter"}),
        (("visits-counter", *NINE), {}, "windows-open", {"end": "2025-09-04T09:10:00Z", "watermark": "2025-09-04T08:50:00Z"}),
        (("visits-counter", "--from", "2025-09-04T07:10", "--to", "2025-09-04T07:00"), {}, "empty-range", {}),
        (("visits-counter", "--from", "2025-09-04T07:00", "--to", "2025-09-04T07:00"), {}, "empty-range", {}),
        (
            ("visits-counter", "--from", "2025-03-30T02:30", "--to", "2025-03-30T04:00"),
            {"ANABRANCH_TIMEZONE": "Europe/Paris"},
            "time-nonexistent",
            {"text": "2025-03-30T02:30", "zone": "Europe/Paris"},
        ),
    ],
)
def test_what_would_do_harm_is_refused_and_nothing_is_changed(
    project: Project,
    counts: Results,
    arguments: tuple[str, ...],
    environment: dict[str, str],
    code: str,
    params: dict[str, object],
) -> None:
    before = counts.all()
    error = _refused(project, code, *arguments, **environment)
    assert params.items() <= error["params"].items()
    assert counts.all() == before
    assert not (project.directory / ".anabranch" / "operations").exists()


def _refused(project: Project, code: str, *arguments: str, **environment: str) -> dict[str, Any]:
    """The refusal as --json has it: no plan is shown beside it."""
    refused = project("reprocess", *arguments, "--yes", "--json", **environment)
    assert (refused.returncode, f"refused[{code}]" in refused.stderr) == (3, True), refused.stderr
    (error,) = json.loads(refused.stdout).values()
    assert (error["code"], error["exit_code"]) == (code, 3)
    return dict(error)


def test_open_windows_are_refused_with_the_event_that_closes_them(project: Project) -> None:
    when = _refused(project, "windows-open", "visits-counter", *NINE)["params"]["when"]
    assert (when["code"], when["params"]) == ("closes-with-event", {"time": "2025-09-04T09:20:00Z"})


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("visits-counter", *SEVEN), "usage[cannot-prompt]"),
        (("visits-counter", *SEVEN, "--yes", "--dry-run"), "usage[contradiction]"),
        (("visits-countr", *SEVEN, "--yes"), "usage[unknown-pipeline]"),
        (("visits-counter", "--from", "seven", "--to", "eight", "--yes"), "usage[time-malformed]"),
        (("visits-counter", "--from", "2025-09-04T07:00", "--yes"), "usage[command-malformed]"),
    ],
)
def test_a_malformed_reprocess_is_a_usage_error(project: Project, arguments: tuple[str, ...], code: str) -> None:
    wrong = project("reprocess", *arguments)
    assert (wrong.returncode, code in wrong.stderr) == (2, True), wrong.stderr


@pytest.mark.usefixtures("project")
def test_without_a_zone_of_the_project_results_are_written_in_utc(counts: Results) -> None:
    (first, *_) = (record for record in counts.all() if record.key_text == SEVEN_KEY)
    assert first.value == b'{"window":{"start":"2025-09-04T07:00:00.000Z","end":"2025-09-04T07:10:00.000Z"},"count":3}'


def test_a_newer_result_that_arrives_while_a_person_thinks_is_not_overwritten(project: Project, counts: Results) -> None:
    terminal, stdin = os.openpty()
    # Typed before there is a plan: it answers nothing.
    os.write(terminal, b"y\n")
    asked = project.start("reprocess", "visits-counter", *SEVEN, stdin=stdin)
    os.close(stdin)
    # The record with the outdated problem counts: it is good by today's rules.
    asked.await_line(r"2025-09-04T07:00:00.000Z  3 \(unchanged\)")
    asked.await_line("the running query is not touched")
    asked.await_line(r"\[y/N\]:")
    # What lasts, on a busy machine, is named again: "..., 5 s so far".
    assert [line for line in asked.err if "so far" not in line and "[y/N]" not in line] == [
        "Checking the stream and the lake ...",
        "Starting Spark ...",
        "Looking at the lake and the results ...",
        f"Recomputing 1 window from {BROWSERS + 3:,} rows of the lake ...",
        "Ending Spark ...",
    ]
    counts.send(SEVEN_KEY, '{"count":7}')
    before = counts.all()
    os.write(terminal, b"y\n")
    assert asked.await_end() == 3
    os.close(terminal)
    said = "\n".join(asked.err)
    assert "refused[inputs-stale]" in said
    assert NEWER_RESULT(key=SEVEN_KEY, origin="elsewhere").text in said
    assert counts.all() == before
    (refused,) = json.loads(project.ok("operations", "--json"))
    assert refused["receipt"]["outcome"] == "refused"
    resumed = project("resume", refused["id"], "--yes")
    assert (resumed.returncode, "refused[nothing-to-resume]" in resumed.stderr) == (3, True)


def test_a_reprocess_killed_while_it_sends_is_resumed_and_the_latest_result_of_each_key_is_right(
    project: Project, browsers: Results
) -> None:
    right = {key: record.value for key, record in latest_by_key(browsers.all()).items() if "T07:20" in key}
    assert len(right) == BROWSERS
    wrong_key = min(right)
    browsers.send(wrong_key, '{"count":999}')
    sending = project.start("reprocess", "browsers-stateful", *MANY, "--yes")
    sending.await_line(f"Sending results: [1-9][0-9]* of {BROWSERS}")
    os.killpg(sending.process.pid, signal.SIGKILL)
    sending.await_end()

    operation = json.loads(project.ok("operations", "--json"))[0]
    assert (operation["receipt"], operation["plan"]["results"]) == (None, BROWSERS)
    assert operation["state"] == "not finished"
    sent = [record for record in browsers.all() if record.header("anabranch-operation") == operation["id"]]
    assert 0 < len(sent) < BROWSERS

    # Meanwhile the stream emits a result of another window, which the plan does not depend on.
    browsers.send('{"window_start":"2025-09-04T09:00:00.000Z","browser":"Firefox"}', '{"count":2}')
    assert "999 -> 1" in project.ok("resume", operation["id"], "--dry-run")
    resumed = project("resume", operation["id"], "--yes")
    assert resumed.returncode == 0, resumed.stderr
    assert f": {BROWSERS} of {BROWSERS}" in resumed.stderr
    latest = {key: record for key, record in latest_by_key(browsers.all()).items() if key in right}
    assert {key: record.value for key, record in latest.items()} == right
    assert {record.header("anabranch-operation") for record in latest.values()} == {operation["id"]}
    receipt = json.loads(project.ok("operations", operation["id"], "--json"))["receipt"]
    assert (receipt["planned"], receipt["acknowledged"]) == (BROWSERS, BROWSERS)
