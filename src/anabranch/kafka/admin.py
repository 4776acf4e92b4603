"""Kafka's topics through the Python client: lists, creates and deletes them, and reads their offset ranges.

Every request has a time limit. A failure names the cluster's address and the next command. Every client of ours is opened
here: quiet logging, quick reconnects, one error for bad properties.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from time import monotonic
from typing import Any, Literal, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.admin._listoffsets import OffsetSpec
from confluent_kafka.admin._metadata import ClusterMetadata
from confluent_kafka.cimpl import NewTopic

from anabranch.checkpoint.layout import OffsetRange
from anabranch.errors import AnabranchError, Failed
from anabranch.kafka.messages import (
    KAFKA_PROPERTIES_REJECTED,
    KAFKA_REJECTED_CREDENTIALS,
    KAFKA_UNREACHABLE,
    TOO_MANY_PARTITIONS,
    TOPIC_CHANGE_UNCONFIRMED,
    TOPIC_EXISTS,
    TOPIC_MISSING,
    TOPIC_NOT_CREATED,
    TOPIC_NOT_DELETED,
)
from anabranch.text.format import parse_topic_name
from anabranch.text.suggest import did_you_mean

Client = TypeVar("Client")

# Long enough for a busy laptop, short enough that a command does not seem to hang.
ANSWER_TIMEOUT_S = 5.0
# While a request waits, the errors that the client reported are checked this often. Rejected credentials stay rejected: the
# client retries several times a second and could lock the account.
_CHECK_EVERY_S = 1.0
# Far more than a topic needs. Kafka would take any number, and fill its disk with a directory for each.
MOST_PARTITIONS = 10_000
# A topic appears in a broker's metadata, and leaves it, a little after the change was confirmed (0.1 s and more).
_TOPIC_KNOWN_S = 1.0
_TOPIC_POLL_S = 0.1
# The broker that leads a partition may not know it yet: just after the partition was added, or has moved.
_NOT_LED_YET = {
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.REPLICA_NOT_AVAILABLE,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
}
# A user's properties override these.
CLIENT_DEFAULTS = {
    # The client's log lines would break the terminal's display. What matters is reported as an error.
    "log_level": "0",
    # librdkafka's default backs off for up to 10 s: a broker that restarts would look unavailable for longer than it is.
    "reconnect.backoff.ms": "50",
    "reconnect.backoff.max.ms": "500",
    "socket.connection.setup.timeout.ms": "5000",
}
_QUIET_LOGGER = logging.Logger("anabranch.kafka", level=logging.CRITICAL + 1)


@dataclass(frozen=True)
class TopicInfo:
    name: str
    partitions: int


class KafkaAdmin:
    """The topics of one Kafka cluster. `properties` are in librdkafka's spelling and include `bootstrap.servers`."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self.properties = dict(properties)
        self.address = properties["bootstrap.servers"]
        # The last error that the client reported by itself; None once Kafka has answered.
        self._client_error: KafkaError | None = None
        self._admin = open_client(AdminClient, {**properties, "error_cb": self._on_client_error})

    def all(self) -> list[TopicInfo]:
        found = self._metadata().topics
        return sorted(
            (TopicInfo(name, len(about.partitions)) for name, about in found.items() if not name.startswith("__")),
            key=lambda topic: topic.name,
        )

    def find(self, name: str) -> TopicInfo:
        """Waits up to a second for a topic that was just created."""
        return self._find(name, monotonic() + _TOPIC_KNOWN_S)

    def create(self, name: str, partitions: int) -> None:
        parse_topic_name(name)
        if partitions > MOST_PARTITIONS:
            raise TOO_MANY_PARTITIONS(partitions=partitions, most=MOST_PARTITIONS)
        # Reports an unreachable Kafka and rejected credentials; the creation itself would only time out.
        existing = {topic.name: topic for topic in self.all()}
        if name in existing:
            raise TOPIC_EXISTS(topic=name, partitions=existing[name].partitions)
        future = self._admin.create_topics([NewTopic(name, num_partitions=partitions)])[name]
        try:
            self._await_change(future, name, "created")
        except KafkaException as error:
            raise TOPIC_NOT_CREATED(topic=name, reason=error_text(error)) from None

    def delete(self, name: str) -> None:
        future = self._admin.delete_topics([name])[name]
        try:
            self._await_change(future, name, "deleted")
        except KafkaException as error:
            raise TOPIC_NOT_DELETED(topic=name, reason=error_text(error)) from None
        # A topic that is still listed could not be created again.
        deadline_s = monotonic() + _TOPIC_KNOWN_S
        while name in {topic.name for topic in self.all()} and monotonic() < deadline_s:
            self._admin.poll(_TOPIC_POLL_S)

    def version(self) -> str:
        """As far as a client can tell: Kafka reports its version only up to 3.9."""
        try:
            broker = next(iter(self._metadata().brokers))
            resource = ConfigResource(ConfigResource.Type.BROKER, str(broker))
            settings = self._admin.describe_configs([resource], request_timeout=ANSWER_TIMEOUT_S)[resource].result()
        except KafkaException as error:
            raise self.unreachable(error) from None
        protocol = settings.get("inter.broker.protocol.version")
        return f"Kafka {protocol.value}" if protocol else "Kafka 4.0 or newer"

    def cluster_id(self) -> str | None:
        """None: the cluster does not say."""
        return self._metadata().cluster_id or None

    def topic_id(self, name: str) -> str:
        """Differs between a topic and one of the same name that was recreated."""
        futures = self._admin.describe_topics(TopicCollection([name]), request_timeout=ANSWER_TIMEOUT_S)
        try:
            return str(futures[name].result().topic_id)
        except KafkaException as error:
            raise self._unanswered(error, name) from None

    def offset_ranges(self, name: str) -> dict[int, OffsetRange]:
        """The offsets that each partition of a topic retains now."""
        # Without a wait: `status` and a running pipeline ask often, also for topics that were deleted.
        partitions = range(self._find(name, deadline_s=0).partitions)
        specs = (OffsetSpec.earliest(), OffsetSpec.latest())  # type: ignore[no-untyped-call]
        earliest, end = (self._offsets(name, partitions, spec) for spec in specs)
        return {partition: OffsetRange(earliest[partition], end[partition]) for partition in partitions}

    def consumer(self, extra: Mapping[str, str]) -> Consumer:
        # The client requires a group id. It has no effect: nothing is committed and nothing is subscribed to.
        # Offsets that are gone are an error: librdkafka's default would skip to the end without a word.
        fixed = {"group.id": "anabranch", "enable.auto.commit": "false", "auto.offset.reset": "error"}
        return open_client(Consumer, {**self.properties, **fixed, **extra})

    def unreachable(self, error: KafkaException) -> Failed:
        """The error to raise: Kafka does not answer, or it rejected our credentials."""
        reason = error_text(self._client_error or error)
        message = KAFKA_REJECTED_CREDENTIALS if self._credentials_rejected() else KAFKA_UNREACHABLE
        return message(address=self.address, reason=reason)

    def _find(self, name: str, deadline_s: float) -> TopicInfo:
        parse_topic_name(name)
        while True:
            # All topics: a request for one by its name may create it.
            topics = {topic.name: topic for topic in self.all()}
            if name in topics:
                return topics[name]
            if monotonic() >= deadline_s:
                raise TOPIC_MISSING(topic=name, address=self.address, suggestion=did_you_mean(name, topics))
            self._admin.poll(_TOPIC_POLL_S)

    def _metadata(self) -> ClusterMetadata:
        deadline_s = monotonic() + ANSWER_TIMEOUT_S
        while True:
            try:
                found = self._admin.list_topics(timeout=_CHECK_EVERY_S)
            except KafkaException as error:
                self._admin.poll(0)
                if self._credentials_rejected() or monotonic() >= deadline_s:
                    raise self.unreachable(error) from None
            else:
                self._client_error = None
                return found

    def _on_client_error(self, error: KafkaError) -> None:
        # "All brokers are down" carries no reason: it only follows another error.
        if error.code() != KafkaError._ALL_BROKERS_DOWN:
            self._client_error = error

    def _credentials_rejected(self) -> bool:
        """The password or the certificates are wrong: waiting does not help."""
        error = self._client_error
        return error is not None and (
            error.code() in (KafkaError._AUTHENTICATION, KafkaError._SSL) or "SSL routines" in error.str()
        )

    def _offsets(self, name: str, partitions: Iterable[int], spec: OffsetSpec) -> dict[int, int]:
        wanted = {TopicPartition(name, partition): spec for partition in partitions}
        deadline_s = monotonic() + ANSWER_TIMEOUT_S
        while True:
            futures = self._admin.list_offsets(wanted, request_timeout=ANSWER_TIMEOUT_S)
            try:
                return {of.partition: int(future.result().offset) for of, future in futures.items()}
            except KafkaException as error:
                if cause_of(error).code() not in _NOT_LED_YET or monotonic() > deadline_s:
                    raise self._unanswered(error, name) from None
                self._admin.poll(_TOPIC_POLL_S)

    def _unanswered(self, error: KafkaException, topic: str) -> AnabranchError:
        """Of a question about one topic, which may have been deleted meanwhile."""
        if cause_of(error).code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            return TOPIC_MISSING(topic=topic, address=self.address, suggestion="")
        return self.unreachable(error)

    def _await_change(self, future: Future[None], name: str, change: Literal["created", "deleted"]) -> None:
        try:
            future.result(ANSWER_TIMEOUT_S)
        except TimeoutError:
            raise TOPIC_CHANGE_UNCONFIRMED(
                address=self.address, timeout_s=ANSWER_TIMEOUT_S, topic=name, change=change
            ) from None


def open_client(client: Callable[..., Client], properties: Mapping[str, Any]) -> Client:
    """An AdminClient, Producer or Consumer. librdkafka checks the properties here and connects in the background."""
    try:
        return client({**CLIENT_DEFAULTS, **properties}, logger=_QUIET_LOGGER)
    except KafkaException as error:
        raise KAFKA_PROPERTIES_REJECTED(reason=error_text(error)) from None


def error_text(error: KafkaException | KafkaError) -> str:
    """librdkafka's text, without the address in front, the timing at the end and the full stop."""
    text = (cause_of(error) if isinstance(error, KafkaException) else error).str()
    return re.sub(r"^\S+://\S+: | \(after \d+ms .*\)$", "", text).rstrip(".")


def cause_of(error: KafkaException) -> KafkaError:
    cause = error.args[0]
    assert isinstance(cause, KafkaError)
    return cause


def answers(address: str, timeout_s: float, properties: Mapping[str, str] | None = None) -> bool:
    admin = open_client(AdminClient, {**(properties or {}), "bootstrap.servers": address})
    try:
        admin.list_topics(timeout=timeout_s)
    except KafkaException:
        return False
    return True
