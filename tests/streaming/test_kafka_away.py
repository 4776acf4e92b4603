"""Kafka becomes unreachable and returns under a running query; records expire behind a stopped one."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from anabranch.checkpoint.messages import OFFSETS_EXPIRED, TOPIC_RECREATED
from tests.support.harness import Project

pytestmark = pytest.mark.crash


@pytest.fixture
def project(make_project: Callable[[str], Project]) -> Iterator[Project]:
    """A project with a broker of its own, on a port that it keeps over restarts."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    project = make_project("project")
    project.configure(f"[broker]\nport = {port}")
    project.ok("broker", "start")
    project.ok("topics", "create", "visits", "--partitions", "1")
    yield project
    project.end()
    project.ok("broker", "stop")


def _send(project: Project, *visit_ids: int) -> None:
    lines = [json.dumps({"visit_id": n, "event_time": "2025-09-04T07:00:00"}) for n in visit_ids]
    project.ok("produce", "visits", text="\n".join(lines))


def _visits(lines: list[str]) -> Counter[str]:
    return Counter(line.split("visit_id='")[1].split("'")[0] for line in lines if "Printing visit=" in line)


def _broker(project: Project) -> dict[str, Any]:
    return dict(json.loads(project.ok("broker", "status", "--json")))


def test_a_running_query_waits_while_kafka_is_unreachable_and_resumes_when_it_answers(project: Project) -> None:
    _send(project, 1, 2)
    running = project.start("run", "visits-log", "--trigger", "200ms")
    running.await_line("visit_id='2'")
    broker = _broker(project)
    os.kill(broker["pid"], signal.SIGKILL)
    assert broker["address"] in running.await_line("visits-log: waiting")

    project.ok("broker", "start")
    _send(project, 3)
    running.await_line("visit_id='3'")
    running.await_line("running .* lag 0")
    running.process.send_signal(signal.SIGTERM)
    assert running.await_end() == 0
    assert _visits(running.out) == {"1": 1, "2": 1, "3": 1}


def test_a_run_whose_offsets_kafka_no_longer_retains_is_refused_and_nothing_is_skipped(project: Project) -> None:
    _send(project, 1, 2, 3)
    project.ok("run", "visits-log", "--until-caught-up")
    _send(project, 4, 5, 6)
    admin = AdminClient({"bootstrap.servers": _broker(project)["address"], "log_level": "0"})
    for future in admin.delete_records([TopicPartition("visits", 0, 5)]).values():
        future.result()

    checkpoint = project.directory / ".anabranch" / "checkpoints" / "visits-log" / "console"
    before = sorted(checkpoint.rglob("*"))
    refused = project("run", "visits-log")
    assert (refused.returncode, "refused[offsets-lost]" in refused.stderr) == (3, True), refused.stderr
    assert OFFSETS_EXPIRED(topic="visits", partition=0, first=3, last=4).text in refused.stderr
    assert (refused.stdout, sorted(checkpoint.rglob("*"))) == ("", before)

    # The same name, another topic: its id tells.
    project.ok("topics", "delete", "visits", "--yes")
    project.ok("topics", "create", "visits", "--partitions", "1")
    refused = project("run", "visits-log")
    assert (refused.returncode, "refused[checkpoint-differs]" in refused.stderr) == (3, True), refused.stderr
    assert TOPIC_RECREATED(topic="visits").text in refused.stderr
