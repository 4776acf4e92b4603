"""visits-log on the real broker, in real processes: it resumes, it restarts a failed batch whole, it is alone."""

from __future__ import annotations

import json
import os
import re
import signal
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from anabranch.generator.ledger import read_ledger
from tests.support.harness import Project

pytestmark = pytest.mark.kafka

VISIT = re.compile(r"^Partition\[(\d)\] > Printing visit=(Row\(.*\))$")


def _generate(project: Project, topic: str, *options: str) -> None:
    project.ok("generate", topic, "--ledger", "ledger.jsonl", *options)


def _expected(project: Project) -> Counter[str]:
    """What must be printed, by the ledger alone."""
    return Counter(
        f"Row(visit_id={entry.visit_id!r}, event_time={_local(entry.event_time)!r}, page={entry.page!r})"
        for entry in read_ledger(Path(project.directory) / "ledger.jsonl")
        if entry.kind not in ("bad", "future") and entry.event_time is not None
    )


def _local(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=None)


def _printed(lines: list[str]) -> Counter[str]:
    return Counter(match[2] for line in lines if (match := VISIT.match(line)))


def _status(project: Project) -> dict[str, Any]:
    return dict(json.loads(project.ok("status", "--json"))["pipelines"][0])


def test_stopped_and_started_again_each_visit_is_printed_exactly_once(project: Project, topic: str) -> None:
    _generate(project, topic, "--seed", "1", "--count", "80", "--bad", "10%", "--future", "5%", "--duplicate", "5%")
    first = project.start("run", "visits-log", "--trigger", "200ms", "--max-offsets", "10")
    first.await_line("Printing visits")
    first.await_line("Printing visits")

    # While it runs: a second one is refused with who holds it, and status shows it from outside.
    second = project("run", "visits-log")
    assert second.returncode == 3
    assert f"process {first.process.pid}" in second.stderr
    assert "anabranch stop visits-log" in second.stderr
    assert f"process {first.process.pid}" in _status(project)["running"]

    first.process.send_signal(signal.SIGINT)
    assert first.await_end() == 0
    assert 0 < _printed(first.out).total() < _expected(project).total()

    _generate(project, topic, "--seed", "2", "--count", "30")
    again = project.start("run", "visits-log", "--trigger", "200ms")
    again.await_line("goes on after batch|was planned and not finished")
    again.await_line("lag 0")
    # From another terminal this time.
    project.ok("stop", "visits-log")
    assert again.await_end() == 0

    assert _printed(first.out + again.out) == _expected(project)
    status = _status(project)
    left_out = sum(entry.kind in ("bad", "future") for entry in read_ledger(project.directory / "ledger.jsonl"))
    assert (status["records"], status["problems"], status["running"]) == (110, left_out, None)
    assert sum(status["lag"].values()) == 0
    assert "does not run" in project("stop", "visits-log").stderr


def test_killed_in_the_middle_of_a_batch_the_same_batch_comes_again_with_the_same_range(project: Project, topic: str) -> None:
    _generate(project, topic, "--seed", "3", "--count", "4000")
    first = project.start("run", "visits-log", "--trigger", "100ms", "--max-offsets", "1000")
    first.await_line("Printing visits")
    first.await_line("Printing visits")
    os.kill(first.process.pid, signal.SIGKILL)
    first.await_end()
    before = _status(project)
    assert before["running"] is None
    cut = before["unfinished_batch"]
    assert cut is not None
    offsets = project.directory / ".anabranch" / "checkpoints" / "visits-log" / "console" / "offsets" / str(cut)
    planned = offsets.read_bytes()

    again = project("run", "visits-log", "--until-caught-up", "--max-offsets", "1000")
    assert again.returncode == 0, again.stderr
    assert f"batch {cut} was planned and not finished, it runs with the same range" in again.stderr
    assert "took over from a process that died" in again.stderr
    assert offsets.read_bytes() == planned

    # Whole batches: those committed before the kill, then everything from the one that was cut.
    batches = "\n".join(first.out).split("✍️ Printing visits\n")[1:]
    committed = _printed("\n".join(batches[:cut]).splitlines())
    assert committed + _printed(again.stdout.splitlines()) == _expected(project)


def test_a_second_ctrl_c_ends_it_at_once_with_130(project: Project, topic: str) -> None:
    _generate(project, topic, "--count", "200000")
    running = project.start("run", "visits-log", "--max-offsets", "200000")
    running.await_line("Partition")
    running.process.send_signal(signal.SIGINT)
    running.await_line("after the batch under way")
    running.process.send_signal(signal.SIGINT)
    assert running.await_end() == 130
    assert _status(project)["running"] is None


def test_what_a_bad_record_holds_is_never_printed_raw(project: Project, topic: str) -> None:
    lines = [
        b'{"visit_id": "\\u001b[2J\\u202e", "event_time": "2025-09-04T07:00:00", "page": "a\\nb"}',
        b"\xff\xfe not json",
        b'{"visit_id": 1}',
        b"[]",
    ]
    project.ok("produce", topic, text=b"\n".join(lines))
    done = project("run", "visits-log", "--until-caught-up")
    assert done.returncode == 0
    assert done.stdout.splitlines()[1:] == [
        "Partition[0] > Printing visit=Row(visit_id='\\x1b[2J\\u202e', "
        "event_time=datetime.datetime(2025, 9, 4, 7, 0), page='a\\nb')"
    ]
    assert "3 with problems" in done.stderr


def test_warnings_of_spark_go_to_the_log_not_to_the_terminal(project: Project) -> None:
    done = project("run", "visits-log", "--until-caught-up")
    assert done.returncode == 0
    assert "WARN" not in done.stdout + done.stderr
    (log,) = (project.directory / ".anabranch" / "logs").glob("run-*.log")
    assert log.stat().st_size > 0


@pytest.mark.parametrize(
    ("toml", "code", "fact", "way_out"),
    [
        (
            '[kafka]\nbootstrap_servers = "127.0.0.1:1"',
            1,
            "Kafka at 127.0.0.1:1 does not answer",
            "anabranch broker start",
        ),
        ("", 1, "no Kafka", "anabranch broker start"),
        ('[pipelines.visits-log]\ntriger = "1s"', 2, "unknown setting", "did you mean trigger?"),
    ],
)
def test_a_run_that_cannot_start_says_why_within_seconds(
    project: Project, toml: str, code: int, fact: str, way_out: str
) -> None:
    project.configure(toml)
    refused = project("run", "visits-log")
    assert refused.returncode == code
    assert fact in refused.stderr
    assert way_out in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_topic_that_is_missing_offers_to_create_it(project: Project, kafka: dict[str, str], topic: str) -> None:
    address = kafka["bootstrap.servers"]
    project.configure(f'[kafka]\nbootstrap_servers = "{address}"\n[pipelines.visits-log]\ntopics = {{ source = "{topic}x" }}')
    refused = project("run", "visits-log")
    assert refused.returncode == 2
    assert f"anabranch topics create {topic}x" in refused.stderr


@pytest.mark.parametrize(
    "arguments",
    [["nope"], ["visits-log", "--trigger", "5"], ["visits-log", "--to", "mars"], ["visits-log", "--set", "x"], []],
)
def test_wrong_arguments_are_usage_errors(project: Project, arguments: list[str]) -> None:
    assert project("run", *arguments).returncode == 2
