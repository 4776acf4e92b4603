"""The commands topics, produce and consume, as a user runs them."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from anabranch.kafka.admin import KafkaAdmin
from tests.support.harness import Project

pytestmark = pytest.mark.kafka


def test_lines_read_together_go_to_one_partition_in_order(project: Project, topic: str) -> None:
    lines = [f'{{"n": {n}}}' for n in range(50)]
    assert "50 records acknowledged" in project("produce", topic, text="\n".join(lines) + "\n\n").stderr
    received = [json.loads(line) for line in project.ok("consume", topic, "--json").splitlines()]
    assert [record["value"] for record in received] == lines
    assert len({record["partition"] for record in received}) == 1


def test_a_key_chooses_the_same_partition_as_in_java(project: Project, topic: str) -> None:
    # The partitions, of 2, that Kafka's Java producer chose for these keys.
    by_java = {"1": 1, "2": 0, "5": 0, "6": 0, "7": 1}
    project.ok("produce", topic, "--key", "visit_id", text="\n".join(f'{{"visit_id": "{key}"}}' for key in by_java))
    received = [json.loads(line) for line in project.ok("consume", topic, "--json").splitlines()]
    assert {record["key"]: record["partition"] for record in received} == by_java


def test_a_line_without_the_key_is_an_error_with_its_number(project: Project, topic: str) -> None:
    wrong = project("produce", topic, "--key", "visit_id", text='{"visit_id": 1}\n{"page": "x"}\n')
    assert (wrong.returncode, "line 2 " in wrong.stderr, "'visit_id'" in wrong.stderr) == (2, True, True)
    assert project.ok("consume", topic) == ""


def test_files_are_sent_to_the_partition_that_was_asked_for(project: Project, topic: str) -> None:
    (project.directory / "lines.jsonl").write_text("a\nb\n")
    project.ok("produce", topic, "lines.jsonl", "--partition", "1")
    received = [json.loads(line) for line in project.ok("consume", topic, "--json").splitlines()]
    assert [(r["partition"], r["offset"], r["value"]) for r in received] == [(1, 0, "a"), (1, 1, "b")]
    assert project("produce", topic, "nowhere.jsonl").returncode == 2
    assert project("produce", topic, "--partition", "2", text="x").returncode == 2


def test_values_are_read_as_the_same_bytes_that_were_sent(project: Project, topic: str) -> None:
    project.ok("produce", topic, text=b"caf\xc3\xa9 \xff \x1b[31m\n")
    raw = subprocess.run(
        [sys.executable, "-m", "anabranch", "consume", topic], cwd=project.directory, capture_output=True, check=True
    )
    assert raw.stdout == b"caf\xc3\xa9 \xff \x1b[31m\n"


def test_a_closed_pipe_is_not_an_error(project: Project, topic: str) -> None:
    project.ok("produce", topic, text="\n".join(f"line {n}" for n in range(20_000)))
    piped = subprocess.run(
        f"{sys.executable} -m anabranch consume {topic} | head -n 1",
        shell=True,
        cwd=project.directory,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (piped.stdout, piped.stderr) == ("line 0\n", "")


def test_follow_prints_new_records(project: Project, topic: str) -> None:
    project.ok("produce", topic, text="old\n")
    following = project.start("consume", topic, "--follow")
    following.await_line("^old$")
    project.ok("produce", topic, text="new\n")
    following.await_line("^new$")


def test_a_missing_topic_is_an_error_with_the_nearest_name(project: Project, topic: str) -> None:
    for command in (("consume", topic[:-1]), ("produce", topic[:-1]), ("generate", topic[:-1], "--count", "1")):
        wrong = project(*command, text="x\n")
        assert (wrong.returncode, "[topic-missing]" in wrong.stderr) == (2, True), (command, wrong.stderr)
        assert f"did you mean {topic}?" in wrong.stderr, command


def test_topics_are_listed_created_and_deleted(project: Project, topics: KafkaAdmin, topic: str) -> None:
    project.ok("topics", "create", f"{topic}-more", "--partitions", "3")
    again = project("topics", "create", f"{topic}-more")
    assert (again.returncode, "usage[topic-exists]" in again.stderr) == (2, True), again.stderr
    for name, partitions, code in (
        (f"{topic} x", "1", "topic-name-illegal"),
        (f"{topic}-x", "99999999", "too-many-partitions"),
    ):
        wrong = project("topics", "create", name, "--partitions", partitions)
        assert (wrong.returncode, f"usage[{code}]" in wrong.stderr) == (2, True), wrong.stderr
    listed = {row["topic"]: row["partitions"] for row in json.loads(project.ok("topics", "--json"))}
    assert listed[f"{topic}-more"] == [{"partition": p, "earliest": 0, "end": 0} for p in range(3)]
    assert f"{topic}-more" in project.ok("topics")

    asked = project("topics", "delete", f"{topic}-more")
    assert (asked.returncode, "--yes" in asked.stderr) == (2, True)
    project.ok("topics", "delete", f"{topic}-more", "--yes")
    assert f"{topic}-more" not in [info.name for info in topics.all()]


def test_a_topic_is_created_again_as_soon_as_it_is_deleted(topics: KafkaAdmin, topic: str) -> None:
    """Of so many partitions that the broker still lists it when its deletion is confirmed."""
    name, ids = f"{topic}-again", set()
    for _ in range(3):
        topics.create(name, 100)
        topics.find(name)
        ids.add(topics.topic_id(name))
        topics.delete(name)
    assert len(ids) == 3
