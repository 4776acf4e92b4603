"""Generated visits on a real broker: the ledger lists exactly what a consumer reads."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka import Consumer, TopicPartition

from anabranch.errors import Failed, Misused
from anabranch.generator.ledger import Ledger, LedgerEntry, read_ledger
from anabranch.generator.pace import Pace
from anabranch.generator.recipe import Recipe
from anabranch.generator.send import SendProgress, Sent, send
from anabranch.generator.timeline import Made
from anabranch.generator.visits import visits

pytestmark = pytest.mark.kafka

MIXED = Recipe(seed=11, late=0.05, out_of_order=0.05, duplicate=0.05, bad=0.05, future=0.05)
PARTITIONS = (0, 1)


class Read(NamedTuple):
    partition: int
    offset: int
    timestamp: int
    key: bytes
    value: bytes


def read_all(kafka: dict[str, str], topic: str) -> list[Read]:
    """All records of the topic, by partition and offset."""
    consumer = Consumer({**kafka, "group.id": "test-generate", "enable.auto.commit": False})
    try:
        consumer.assign([TopicPartition(topic, partition, 0) for partition in PARTITIONS])
        ends = [consumer.get_watermark_offsets(TopicPartition(topic, partition), 10)[1] for partition in PARTITIONS]
        records: list[Read] = []
        until_s = time.monotonic() + 20
        while len(records) < sum(ends):
            assert time.monotonic() < until_s, f"{len(records)} of {sum(ends)} records were read"
            for message in consumer.consume(1000, 0.2):
                assert message.error() is None
                place = (message.partition() or 0, message.offset() or 0, message.timestamp()[1])
                records.append(Read(*place, message.key() or b"", message.value() or b""))
        return sorted(records)
    finally:
        consumer.close()


def generate(kafka: dict[str, str], topic: str, recipe: Recipe, count: int) -> Sent:
    return send(kafka, topic, visits(recipe), pace=Pace(count=count))


def coordinates(entries: list[LedgerEntry]) -> list[tuple[int, int, int]]:
    return sorted((entry.partition, entry.offset, entry.timestamp) for entry in entries)


def test_the_ledger_lists_exactly_what_a_consumer_reads(kafka: dict[str, str], topic: str, tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    with Ledger(path) as ledger:
        sent = send(kafka, topic, visits(MIXED), pace=Pace(count=5000), ledger=ledger)
    entries, records = list(read_ledger(path)), read_all(kafka, topic)
    assert sent.acknowledged == len(entries) == len(records) == 5000
    assert coordinates(entries) == [record[:3] for record in records]
    assert {entry.topic for entry in entries} == {topic}

    values = {(record.partition, record.offset): record.value for record in records}
    for entry in entries:
        if entry.kind != "bad":
            value = json.loads(values[entry.partition, entry.offset])
            assert value == entry.facts


def test_the_same_seed_sends_the_same_bytes_in_the_same_order(kafka: dict[str, str], topic: str) -> None:
    generate(kafka, topic, MIXED, 1500)
    once = read_all(kafka, topic)
    generate(kafka, topic, MIXED, 1500)
    twice = read_all(kafka, topic)
    for partition in PARTITIONS:
        first = [record[3:] for record in once if record.partition == partition]
        both = [record[3:] for record in twice if record.partition == partition]
        assert both == first + first


def test_a_key_is_in_the_partition_that_javas_producer_chooses(kafka: dict[str, str], topic: str) -> None:
    generate(kafka, topic, MIXED, 3000)
    records = read_all(kafka, topic)
    assert {record.partition for record in records} == set(PARTITIONS)
    for record in records:
        assert record.partition == (murmur2(record.key) & 0x7FFFFFFF) % len(PARTITIONS)


def murmur2(key: bytes) -> int:
    """The same as org.apache.kafka.common.utils.Utils.murmur2, which Java's default partitioner uses."""
    mix, mask = 0x5BD1E995, 0xFFFFFFFF
    whole = len(key) & ~3
    result = 0x9747B28C ^ len(key)
    for at in range(0, whole, 4):
        word = int.from_bytes(key[at : at + 4], "little") * mix & mask
        word = (word ^ word >> 24) * mix & mask
        result = result * mix & mask ^ word
    if whole < len(key):
        result = (result ^ int.from_bytes(key[whole:], "little")) * mix & mask
    result = (result ^ result >> 13) * mix & mask
    return result ^ result >> 15


def test_murmur2_gives_the_values_of_kafkas_own_tests() -> None:
    assert murmur2(b"21") == -973932308 & 0xFFFFFFFF
    assert murmur2(b"foobar") == -790332482 & 0xFFFFFFFF
    assert murmur2(b"a-little-bit-long-string") == -985981536 & 0xFFFFFFFF


def test_a_duplicate_follows_the_record_it_repeats_and_each_kind_has_its_share(
    kafka: dict[str, str], topic: str, tmp_path: Path
) -> None:
    path = tmp_path / "ledger.jsonl"
    with Ledger(path) as ledger:
        sent = send(kafka, topic, visits(MIXED), pace=Pace(count=8000), ledger=ledger)
    for kind, share in MIXED.shares().items():
        assert sent.by_kind[kind] / 8000 == pytest.approx(share, abs=0.01)
    kinds = {(entry.partition, entry.offset): entry.kind for entry in read_ledger(path)}
    earlier: set[tuple[int, bytes, bytes]] = set()
    for record in read_all(kafka, topic):
        here = (record.partition, record.key, record.value)
        assert kinds[record.partition, record.offset] != "duplicate" or here in earlier
        earlier.add(here)


def test_a_stop_leaves_a_ledger_of_exactly_the_records_in_the_topic(kafka: dict[str, str], topic: str, tmp_path: Path) -> None:
    path, stop = tmp_path / "ledger.jsonl", threading.Event()

    def stop_at_the_first_acknowledgement(progress: SendProgress) -> None:
        if progress.acknowledged:
            stop.set()

    with Ledger(path) as ledger:
        sent = send(kafka, topic, visits(MIXED), ledger=ledger, progress=stop_at_the_first_acknowledgement, stop=stop)
    assert sent.acknowledged > 0
    entries = list(read_ledger(path))
    assert len(entries) == sent.acknowledged
    assert coordinates(entries) == [record[:3] for record in read_all(kafka, topic)]


def test_the_event_clock_waits_so_that_no_good_record_is_in_the_future(kafka: dict[str, str], topic: str) -> None:
    tolerance = timedelta(hours=1)
    recipe = Recipe(start=datetime.now(UTC) + tolerance - timedelta(seconds=1), spacing_s=0.2)
    reported: list[SendProgress] = []
    send(kafka, topic, visits(recipe), pace=Pace(count=8), progress=reported.append)
    assert any(progress.holding_back for progress in reported)
    records = read_all(kafka, topic)
    assert sorted(record.value for record in records) == sorted(made.value for made in islice(visits(recipe), 8))
    for record in records:
        recorded = datetime.fromtimestamp(record.timestamp / 1000, UTC)
        assert datetime.fromisoformat(json.loads(record.value)["event_time"]) <= recorded + tolerance


def test_a_missing_topic_is_an_error_with_the_nearest_name_and_the_command_that_creates_it(
    kafka: dict[str, str], topic: str
) -> None:
    with pytest.raises(Misused) as error:
        generate(kafka, f"{topic}x", MIXED, 1)
    assert error.value.code == "topic-missing"
    assert error.value.remedies == (f"did you mean {topic}?", f"anabranch topics create {topic}x")


def test_a_rejected_record_is_an_error_with_the_address_and_the_counts(kafka: dict[str, str], topic: str) -> None:
    def too_large() -> Iterator[Made]:
        yield from islice(visits(MIXED), 10)
        yield next(visits(MIXED))._replace(value=b"x" * 3_000_000)

    with pytest.raises(Failed) as error:
        send(kafka, topic, too_large())
    assert error.value.code == "records-not-acknowledged"
    params = error.value.reason.params
    assert (params["address"], params["acknowledged"], params["sent"]) == (kafka["bootstrap.servers"], 10, 11)
    assert len(read_all(kafka, topic)) == 10


def test_an_unknown_client_property_is_an_error_in_the_configuration(kafka: dict[str, str], topic: str) -> None:
    with pytest.raises(Misused) as error:
        send({**kafka, "no.such.property": "1"}, topic, visits(MIXED))
    assert error.value.code == "kafka-properties-rejected"
    assert "no.such.property" in error.value.reason.params["reason"]


def test_an_unreachable_broker_is_reported_within_seconds() -> None:
    started_s = time.monotonic()
    with pytest.raises(Failed) as error:
        send({"bootstrap.servers": "127.0.0.1:1"}, "visits", visits(MIXED))
    assert (error.value.code, error.value.reason.params["address"]) == ("kafka-unreachable", "127.0.0.1:1")
    assert time.monotonic() - started_s < 20
