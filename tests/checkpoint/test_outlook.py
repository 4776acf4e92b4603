"""`checkpoint` says what `run` and `rewind` would say: one judge for all three."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from anabranch.kafka.admin import KafkaAdmin
from tests.support.harness import PATIENCE_S, Project
from tests.support.remedies import paste, remedies

pytestmark = [pytest.mark.kafka, pytest.mark.in_process]


def _made(project: Project, topic: str) -> Path:
    lines = [json.dumps({"visit_id": n, "event_time": "2025-09-04T07:00:00Z"}) for n in range(6)]
    project.ok("produce", topic, "--partition", "0", text="\n".join(lines))
    project.ok("run", "visits-log", "--until-caught-up", "--max-offsets", "2")
    return project.directory / ".anabranch" / "checkpoints" / "visits-log" / "console"


def _all_three(project: Project, code: str) -> str:
    """Run and rewind are refused with the code, and checkpoint finds it; what checkpoint shows."""
    for command in (("run", "visits-log"), ("rewind", "visits-log", "--to-batch", "1", "--yes")):
        refused = project(*command)
        assert (refused.returncode, f"refused[{code}]" in refused.stderr) == (3, True), (command, refused.stderr)
    done = project("checkpoint", "visits-log")
    assert (done.returncode, f"[{code}]" in done.stdout) == (4, True), done.stdout
    return done.stdout


def test_another_kafka_a_recreated_topic_and_another_query_id_are_seen_by_all_three(
    project: Project, topic: str, topics: KafkaAdmin, make_project: Callable[[str], Project]
) -> None:
    checkpoint = _made(project, topic)
    clean = project("checkpoint", "visits-log")
    assert (clean.returncode, "Kafka retains its data" in clean.stdout) == (0, True), clean.stdout

    metadata = checkpoint / "metadata"
    before = metadata.read_text(encoding="utf-8")
    shutil.copy(checkpoint / ".metadata.crc", project.directory / "crc")
    (checkpoint / ".metadata.crc").unlink()
    metadata.write_text('{"id":"11111111-2222-3333-4444-555555555555"}', encoding="utf-8")
    assert "Kafka retains its data" not in _all_three(project, "other-query-id")
    (way,) = (one for one in remedies(project("run", "visits-log").stderr) if "write the id back" in one)
    assert paste(project, way.partition(": ")[2]).returncode == 0
    assert json.loads(metadata.read_text(encoding="utf-8")) == json.loads(before)
    assert project("checkpoint", "visits-log").returncode == 0

    other = make_project("other")
    other.ok("broker", "start", "--port", "0")
    address = json.loads(other.ok("broker", "status", "--json"))["address"]
    other.ok("topics", "create", topic)
    elsewhere = {"ANABRANCH_KAFKA__BOOTSTRAP_SERVERS": address}
    try:
        refused = project("run", "visits-log", **elsewhere)
        assert "of the Kafka cluster" in refused.stderr
        found = json.loads(project("checkpoint", "visits-log", "--json", **elsewhere).stdout)
    finally:
        other.ok("broker", "stop")
    assert [one["params"]["why"][0]["code"] for one in found["findings"]] == ["other-cluster"]
    assert not any(batch["replay"]["possible"] for batch in found["batches"])

    # Without any Kafka: what needs none is judged, the rest is not called fine.
    away = project("checkpoint", "visits-log", ANABRANCH_KAFKA__BOOTSTRAP_SERVERS="127.0.0.1:1")
    assert (away.returncode, "Source retention was not checked" in away.stdout) == (0, True), away.stdout

    topics.delete(topic)
    topics.create(topic, 2)
    shown = _all_three(project, "checkpoint-differs")
    assert "was deleted and recreated" in shown
    assert "No batch can be rewound to" in shown


def test_what_retention_took_is_seen_by_run_and_checkpoint(project: Project, topic: str, kafka: dict[str, str]) -> None:
    _made(project, topic)
    lines = [json.dumps({"visit_id": n, "event_time": "2025-09-04T07:00:00Z"}) for n in range(4)]
    project.ok("produce", topic, "--partition", "0", text="\n".join(lines))
    # Kept: a client that is let go of takes its answers with it.
    admin = AdminClient(dict(kafka))
    for future in admin.delete_records([TopicPartition(topic, 0, 8)]).values():
        future.result(PATIENCE_S)
    refused, found = project("run", "visits-log"), project("checkpoint", "visits-log")
    assert (refused.returncode, "refused[offsets-lost]" in refused.stderr) == (3, True)
    assert (found.returncode, "[offsets-lost]" in found.stdout) == (4, True)
