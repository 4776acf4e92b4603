"""visits-log on the real broker, in real processes: it resumes, it repeats an unfinished batch whole, it runs once."""

from __future__ import annotations

import json
import os
import re
import signal
from collections import Counter
from datetime import datetime
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from anabranch.generator.ledger import read_ledger
from anabranch.streaming import messages
from tests.support.harness import Project

pytestmark = pytest.mark.kafka

VISIT = re.compile(r"^Partition\[(\d)\] > Printing visit=(Row\(.*\))$")


def _generate(project: Project, topic: str, *options: str) -> None:
    project.ok("generate", topic, "--ledger", "ledger.jsonl", *options)


def _expected(project: Project) -> Counter[str]:
    """What must be printed, by the ledger alone."""
    return Counter(
        "Row(visit_id={visit_id!r}, event_time={time!r}, page={page!r})".format(
            **entry.facts, time=_local(entry.facts["event_time"])
        )
        for entry in read_ledger(Path(project.directory) / "ledger.jsonl")
        if entry.kind not in ("bad", "future") and entry.facts["event_time"] is not None
    )


def _local(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=None)


def _printed(lines: list[str]) -> Counter[str]:
    return Counter(match[2] for line in lines if (match := VISIT.match(line)))


def _status(project: Project) -> dict[str, Any]:
    return dict(json.loads(project.ok("status", "--json"))["pipelines"][0])


def test_each_visit_is_printed_exactly_once_over_a_stop_and_a_start(project: Project, topic: str) -> None:
    _generate(project, topic, "--seed", "1", "--count", "600", "--bad", "10%", "--future", "5%", "--duplicate", "5%")
    first = project.start("run", "visits-log", "--trigger", "200ms", "--max-offsets", "10")
    first.await_line("Printing visits")
    first.await_line("Printing visits")

    # While it runs: a second one is refused with who holds it, and status shows it from outside.
    second = project("run", "visits-log")
    assert (second.returncode, "refused[lease-held]" in second.stderr) == (3, True), second.stderr
    assert f"process {first.process.pid}" in second.stderr
    assert "anabranch stop visits-log" in second.stderr
    assert f"process {first.process.pid}" in _status(project)["running"]

    first.process.send_signal(signal.SIGINT)
    assert first.await_end() == 0
    assert 0 < _printed(first.out).total() < _expected(project).total()
    assert _status(project)["unfinished_batch"] is None

    _generate(project, topic, "--seed", "2", "--count", "30")
    where = messages.RESUMES(pipeline="visits-log", batch=_status(project)["last_batch"]).text
    again = project.start("run", "visits-log", "--trigger", "200ms", "--max-offsets", "200")
    again.await_line(re.escape(where))
    again.await_line("lag 0")
    # From another terminal this time.
    project.ok("stop", "visits-log")
    assert again.await_end() == 0

    assert _printed(first.out + again.out) == _expected(project)
    status = _status(project)
    left_out = sum(entry.kind in ("bad", "future") for entry in read_ledger(project.directory / "ledger.jsonl"))
    assert (status["records"], status["problems"], status["running"]) == (630, left_out, None)
    assert sum(status["lag"][topic].values()) == 0
    assert "is not running" in project("stop", "visits-log").stderr


def test_a_batch_that_a_kill_interrupted_runs_again_with_the_same_range(project: Project, topic: str) -> None:
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
    assert messages.REPEATS_BATCH(pipeline="visits-log", batch=cut).text in again.stderr
    # The lease of the dead process was taken over.
    assert f"process {first.process.pid}" in again.stderr
    assert offsets.read_bytes() == planned

    # Whole batches: those committed before the kill, then everything from the one that was interrupted.
    batches = "\n".join(first.out).split("✍️ Printing visits\n")[1:]
    committed = _printed("\n".join(batches[:cut]).splitlines())
    assert committed + _printed(again.stdout.splitlines()) == _expected(project)


def test_a_second_ctrl_c_ends_it_at_once_with_130(project: Project, topic: str) -> None:
    _generate(project, topic, "--count", "200000")
    running = project.start("run", "visits-log", "--max-offsets", "200000")
    running.await_line("Partition")
    running.process.send_signal(signal.SIGINT)
    running.await_line("visits-log: stopping")
    running.process.send_signal(signal.SIGINT)
    assert running.await_end() == 130
    assert _status(project)["running"] is None


def test_control_characters_of_a_record_are_never_printed_raw(project: Project, topic: str) -> None:
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
    ("toml", "exit_code", "code", "remedy"),
    [
        ('[kafka]\nbootstrap_servers = "127.0.0.1:1"', 1, "error[kafka-unreachable]", "anabranch broker start"),
        ("", 1, "error[no-kafka]", "anabranch broker start"),
        ('[pipeline.visits-log]\ntriger = "1s"', 2, "usage[unknown-setting]", "did you mean trigger?"),
    ],
)
def test_a_run_that_cannot_start_says_why_within_seconds(
    project: Project, toml: str, exit_code: int, code: str, remedy: str
) -> None:
    project.configure(toml)
    started_s = monotonic()
    failed = project("run", "visits-log")
    assert monotonic() - started_s < 60
    assert (failed.returncode, code in failed.stderr) == (exit_code, True), failed.stderr
    assert remedy in failed.stderr
    assert "Traceback" not in failed.stderr


def test_a_missing_topic_is_reported_with_the_command_that_creates_it(
    project: Project, kafka: dict[str, str], topic: str
) -> None:
    address = kafka["bootstrap.servers"]
    project.configure(f'[kafka]\nbootstrap_servers = "{address}"\n[pipeline.visits-log]\ntopics = {{ source = "{topic}x" }}')
    rejected = project("run", "visits-log")
    assert (rejected.returncode, "usage[topic-missing]" in rejected.stderr) == (2, True), rejected.stderr
    assert f"anabranch topics create {topic}x" in rejected.stderr


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["nope"], "usage[unknown-pipeline]"),
        (["visits-log", "--trigger", "5"], "usage[duration-malformed]"),
        (["visits-log", "--to", "mars"], "usage[unknown-sink]"),
        (["visits-log", "--set", "x"], "usage[setting-malformed]"),
        ([], "usage[command-malformed]"),
    ],
)
def test_wrong_arguments_are_usage_errors(project: Project, arguments: list[str], code: str) -> None:
    rejected = project("run", *arguments)
    assert (rejected.returncode, code in rejected.stderr) == (2, True), rejected.stderr
