"""`anabranch consume` on a terminal, and following a topic through all that can happen to it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions

from anabranch.kafka.admin import KafkaAdmin
from anabranch.kafka.embedded.broker import start_broker, stop_broker
from anabranch.spark.jars import ensure_jars
from tests.support.harness import Project
from tests.support.terminal import anabranch

pytestmark = pytest.mark.kafka
HOSTILE = b"\x1b[31mred\x07 caf\xc3\xa9 \xff"


def test_control_characters_are_escaped_on_a_terminal_unless_raw_is_asked_for(project: Project, topic: str) -> None:
    project.ok("produce", topic, text=HOSTILE)
    escaped = anabranch(project.directory, "consume", topic)
    assert escaped.await_end() == 0
    assert escaped.shown == rb"\x1b[31mred\x07 caf" + "\u00e9".encode() + rb" \xff" + b"\r\n"
    raw = anabranch(project.directory, "consume", topic, "--raw")
    assert raw.await_end() == 0
    assert raw.shown == HOSTILE + b"\r\n"
    piped = subprocess.run(
        [sys.executable, "-m", "anabranch", "consume", topic], cwd=project.directory, capture_output=True, check=True
    )
    assert piped.stdout == HOSTILE + b"\n"


def test_a_follower_whose_reader_has_gone_ends_though_nothing_comes(project: Project, topic: str) -> None:
    project.ok("produce", topic, text="one\n")
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{sys.executable} -m anabranch consume {topic} --follow | head -n 1"],
        cwd=project.directory,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "one\n", "")


def test_partitions_that_are_added_are_read_too(project: Project, topics: KafkaAdmin, topic: str) -> None:
    project.ok("produce", topic, "--partition", "0", text="old\n")
    following = project.start("consume", topic, "--follow", "--json")
    assert json.loads(following.await_line('"old"'))["partition"] == 0
    admin = AdminClient({**topics.properties})
    admin.create_partitions([NewPartitions(topic, 3)])[topic].result()
    project.ok("produce", topic, "--partition", "2", text="new\n")
    assert json.loads(following.await_line('"new"'))["partition"] == 2


def test_records_that_are_deleted_before_they_are_read_are_counted_and_said(
    project: Project, topics: KafkaAdmin, topic: str
) -> None:
    project.ok("produce", topic, "--partition", "0", text="a\n")
    following = project.start("consume", topic, "--follow")
    following.await_line("^a$")
    # It cannot read meanwhile. A request that it has sent before may still bring the next record.
    os.kill(following.process.pid, signal.SIGSTOP)
    for text in ("b\n", "c\n"):
        project.ok("produce", topic, "--partition", "0", text=text)
    admin = AdminClient({**topics.properties})
    deletion = admin.delete_records([TopicPartition(topic, 0, 3)])
    for future in deletion.values():
        future.result()
    project.ok("produce", topic, "--partition", "0", text="d\n")
    os.kill(following.process.pid, signal.SIGCONT)
    following.await_line("^d$")
    said = [line for line in following.err if "were deleted before they were read" in line]
    assert (following.out, len(said)) in [(["a", "d"], 1), (["a", "b", "d"], 1)], following.err
    assert f"{2 - following.out.count('b')} record" in said[0]


def test_following_an_address_where_there_is_no_kafka_fails(make_project: Callable[[str], Project]) -> None:
    project = make_project("project")
    project.configure('[kafka]\nbootstrap_servers = "127.0.0.1:1"')
    failed = project("consume", "visits", "--follow")
    assert (failed.returncode, "error[kafka-unreachable]" in failed.stderr) == (1, True), failed.stderr


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[tuple[Path, int]]:
    """One that a test may stop: its directory and port."""
    directory = tmp_path / "own-broker"
    broker, _ = start_broker(directory, 0, ensure_jars("broker"))
    yield directory, broker.port
    stop_broker(directory)


def test_a_topic_is_awaited_and_followed_through_its_deletion_and_kafkas_absence(
    make_project: Callable[[str], Project], own_broker: tuple[Path, int]
) -> None:
    directory, port = own_broker
    project = make_project("project")
    project.configure(f'[kafka]\nbootstrap_servers = "127.0.0.1:{port}"')
    following = project.start("consume", "later", "--follow")
    following.await_line("there is no topic 'later' on .* yet: waiting for it")
    project.ok("topics", "create", "later")
    project.ok("produce", "later", text="one\ntwo\n")
    following.await_line("topic 'later' is there: reading it from its beginning")
    following.await_line("^two$")

    stop_broker(directory)
    following.await_line("does not answer: waiting for it")
    start_broker(directory, port, ensure_jars("broker"))
    following.await_line("answers again")
    project.ok("produce", "later", text="three\n")
    following.await_line("^three$")

    project.ok("topics", "delete", "later", "--yes")
    following.await_line("topic 'later' was deleted: waiting for a new one")
    project.ok("topics", "create", "later")
    project.ok("produce", "later", text="four\n")
    following.await_line("^four$")
    assert following.out == ["one", "two", "three", "four"]
