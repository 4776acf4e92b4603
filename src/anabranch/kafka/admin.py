"""Kafka's topics, seen through the Python client: which there are, how far they reach, made and removed.

Every question has a time limit; what goes wrong is said with the address and the next command.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.admin._listoffsets import OffsetSpec
from confluent_kafka.admin._metadata import ClusterMetadata
from confluent_kafka.cimpl import NewTopic

from anabranch.checkpoint.offsets import OffsetRange
from anabranch.errors import Failed, Misused
from anabranch.text.suggest import did_you_mean

# Long enough for a busy laptop, short enough that nobody wonders whether it hangs.
ANSWER_TIMEOUT_S = 5.0
# So often a question that waits looks at what the client complains of: a refused login stays refused, and the client,
# which tries again several times a second, must not lock the account.
_LOOK_S = 1.0
# The client's log lines would tear the terminal; what matters comes back as errors.
SILENT = {"log_level": "0"}
# Reconnects at once after a failure; librdkafka's own 10 s would make a restart of the broker look longer than it is.
QUICK = {"reconnect.backoff.ms": "50", "reconnect.backoff.max.ms": "500", "socket.connection.setup.timeout.ms": "5000"}

QUIET_LOGGER = logging.Logger("anabranch.kafka", level=logging.CRITICAL + 1)


@dataclass(frozen=True)
class TopicInfo:
    name: str
    partitions: int


class Topics:
    """The topics of one Kafka cluster. `properties` are librdkafka's, with `bootstrap.servers`."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self.properties: dict[str, Any] = {**SILENT, **QUICK, **properties}
        self.address = properties["bootstrap.servers"]
        self._complaint: KafkaError | None = None
        listening: dict[str, Any] = {**self.properties, "error_cb": self._complain}
        try:
            self._admin = AdminClient(listening, logger=QUIET_LOGGER)
        except KafkaException as error:
            raise Misused(
                f"the Kafka client refuses its properties: {error.args[0].str()}.", "mend [kafka] in anabranch.toml"
            ) from None

    def all(self) -> list[TopicInfo]:
        found = self._metadata().topics
        return sorted(
            (TopicInfo(name, len(about.partitions)) for name, about in found.items() if not name.startswith("__")),
            key=lambda topic: topic.name,
        )

    def find(self, name: str) -> TopicInfo:
        topics = self.all()
        for topic in topics:
            if topic.name == name:
                return topic
        raise Misused(
            f"there is no topic {name!r} on {self.address}.",
            did_you_mean(name, [topic.name for topic in topics]),
            f"anabranch topics create {name}",
        )

    def create(self, name: str, partitions: int) -> None:
        self._metadata()  # Kafka away, or a refused login, is told of here; a creation would only time out
        self._await(self._admin.create_topics([NewTopic(name, num_partitions=partitions)]), f"topic {name!r} was not created")

    def delete(self, name: str) -> None:
        self._await(self._admin.delete_topics([name]), f"topic {name!r} was not deleted")

    def version(self) -> str:
        """As far as a client can see it: Kafka names its version only up to 3.9."""
        try:
            broker = next(iter(self._metadata().brokers))
            asked = ConfigResource(ConfigResource.Type.BROKER, str(broker))
            settings = self._admin.describe_configs([asked], request_timeout=ANSWER_TIMEOUT_S)[asked].result()
        except KafkaException as error:
            raise self.away(error) from None
        protocol = settings.get("inter.broker.protocol.version")
        return f"Kafka {protocol.value}" if protocol else "Kafka 4.0 or newer"

    def topic_id(self, name: str) -> str:
        futures = self._admin.describe_topics(TopicCollection([name]), request_timeout=ANSWER_TIMEOUT_S)
        try:
            return str(futures[name].result().topic_id)
        except KafkaException as error:
            raise self.away(error) from None

    def reach(self, name: str) -> dict[int, OffsetRange]:
        """Of each partition of a topic: where it begins and ends now."""
        partitions = range(self.find(name).partitions)
        specs = (OffsetSpec.earliest(), OffsetSpec.latest())  # type: ignore[no-untyped-call]
        earliest, end = (self._offsets(name, partitions, spec) for spec in specs)
        return {partition: OffsetRange(earliest[partition], end[partition]) for partition in partitions}

    def consumer(self, extra: Mapping[str, str]) -> Consumer:
        # A group id is demanded and never used: nothing is committed, nothing is subscribed.
        return Consumer(
            {**self.properties, "group.id": "anabranch", "enable.auto.commit": "false", **extra}, logger=QUIET_LOGGER
        )

    def away(self, error: KafkaException) -> Failed:
        reason = _reason(self._complaint or error.args[0])
        if self._is_refused():
            return Failed(f"Kafka at {self.address} does not let us in: {reason}.", "mend [kafka.properties] in anabranch.toml")
        return Failed(
            f"Kafka at {self.address} does not answer: {reason}.",
            "anabranch broker start   for a broker on this machine",
            "or set kafka.bootstrap_servers in anabranch.toml to yours",
        )

    def _metadata(self) -> ClusterMetadata:
        deadline_s = monotonic() + ANSWER_TIMEOUT_S
        while True:
            try:
                found = self._admin.list_topics(timeout=_LOOK_S)
            except KafkaException as error:
                self._admin.poll(0)
                if self._is_refused() or monotonic() >= deadline_s:
                    raise self.away(error) from None
            else:
                self._complaint = None
                return found

    def _complain(self, error: KafkaError) -> None:
        # "All brokers are down" only says that there was another complaint.
        if error.code() != KafkaError._ALL_BROKERS_DOWN:
            self._complaint = error

    def _is_refused(self) -> bool:
        """The password or the certificates are not right: waiting does not help."""
        complaint = self._complaint
        return complaint is not None and (
            complaint.code() in (KafkaError._AUTHENTICATION, KafkaError._SSL) or "SSL routines" in complaint.str()
        )

    def _offsets(self, name: str, partitions: Iterable[int], spec: OffsetSpec) -> dict[int, int]:
        wanted = {TopicPartition(name, partition): spec for partition in partitions}
        deadline_s = monotonic() + ANSWER_TIMEOUT_S
        while True:
            futures = self._admin.list_offsets(wanted, request_timeout=ANSWER_TIMEOUT_S)
            try:
                return {of.partition: int(future.result().offset) for of, future in futures.items()}
            except KafkaException as error:
                # Just after a topic was made, the broker that leads it may not know of it yet.
                if not error.args[0].retriable() or monotonic() > deadline_s:
                    raise self.away(error) from None

    def _await(self, futures: Mapping[str, object], fact: str) -> None:
        for future in futures.values():
            try:
                future.result(ANSWER_TIMEOUT_S)  # type: ignore[attr-defined]
            except KafkaException as error:
                raise Failed(f"{fact}: {error.args[0].str()}") from None
            except TimeoutError:
                raise Failed(f"{fact}: Kafka at {self.address} does not answer.", "anabranch broker status") from None


def _reason(error: KafkaError) -> str:
    """librdkafka's words, without the address in front and the timing behind."""
    return re.sub(r"^\S+://\S+: | \(after \d+ms .*\)$", "", error.str()).rstrip(".")


def answers(address: str, timeout_s: float, properties: Mapping[str, str] | None = None) -> bool:
    admin = AdminClient({**SILENT, **QUICK, **(properties or {}), "bootstrap.servers": address}, logger=QUIET_LOGGER)
    try:
        admin.list_topics(timeout=timeout_s)
    except KafkaException:
        return False
    return True
