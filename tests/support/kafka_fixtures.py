"""One real broker for the whole tier; each test has topics and a project of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from uuid import uuid4

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions

from anabranch.kafka.admin import KafkaAdmin
from anabranch.kafka.embedded.broker import start_broker, stop_broker
from anabranch.spark.jars import ensure_jars
from tests.support.harness import PATIENCE_S


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The client properties of a running broker."""
    directory: Path = tmp_path_factory.mktemp("broker")
    broker, _ = start_broker(directory, 0, ensure_jars("broker"))
    yield {"bootstrap.servers": broker.address}
    stop_broker(directory)


@pytest.fixture(scope="session")
def topics(kafka: dict[str, str]) -> KafkaAdmin:
    return KafkaAdmin(kafka)


@pytest.fixture
def topic(topics: KafkaAdmin) -> str:
    """A new topic of 2 partitions."""
    return create_topic(topics, 2)


@pytest.fixture(scope="module")
def source(topics: KafkaAdmin) -> str:
    """The same, for all tests of a file."""
    return create_topic(topics, 2)


def create_topic(topics: KafkaAdmin, partitions: int) -> str:
    name = f"visits-{uuid4().hex[:12]}"
    topics.create(name, partitions)
    # It is listed a little after it was created.
    topics.find(name)
    return name


def delete_before(kafka: Mapping[str, str], topic: str, partition: int, offset: int) -> None:
    """As retention does."""
    # Kept: a client that is let go of takes its answers with it.
    admin = AdminClient(dict(kafka))
    for future in admin.delete_records([TopicPartition(topic, partition, offset)]).values():
        future.result(PATIENCE_S)


def grow(kafka: Mapping[str, str], topic: str, partitions: int) -> None:
    """Adds partitions up to this number."""
    admin = AdminClient(dict(kafka))
    (future,) = admin.create_partitions([NewPartitions(topic, partitions)]).values()
    future.result(PATIENCE_S)
