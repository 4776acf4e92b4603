"""Records to and from topics through the Python client: sends whole groups, reads everything a topic retains.

The one place that opens a producer, with the guarantees that every record of ours is sent with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer, TopicPartition

from anabranch.checkpoint.layout import OffsetRange
from anabranch.kafka.admin import KafkaAdmin, error_text, open_client
from anabranch.kafka.messages import NO_DELIVERY_REPORT, RECORDS_NOT_ACKNOWLEDGED

# A user's properties cannot change these.
GUARANTEES = {
    # An acknowledged record is kept, once, and in order within its partition, even if the client retries.
    "acks": "all",
    "enable.idempotence": "true",
    # The partition that Java and Spark choose for a key. librdkafka's default chose the same one for only 9 of 20 keys.
    "partitioner": "murmur2_random",
}
# librdkafka's RD_KAFKA_PARTITION_UA: the partitioner chooses by the record's key.
PARTITION_BY_KEY = -1
_DELIVERY_TIMEOUT_S = 30.0
# A little longer than the client's own timeout, so that the client reports the reason first.
_FLUSH_TIMEOUT_S = _DELIVERY_TIMEOUT_S + 1
_GROUPED = {
    # Lingers for longer than it takes to queue a group: lines that were read together are sent as one batch, at the flush.
    "linger.ms": "1000",
    "batch.num.messages": "100000",
    "delivery.timeout.ms": str(round(_DELIVERY_TIMEOUT_S * 1000)),
}


def open_producer(
    properties: Mapping[str, str], *, defaults: Mapping[str, Any] | None = None, fixed: Mapping[str, Any] | None = None
) -> Producer:
    """`properties` are the user's, in librdkafka's spelling: they override `defaults`, and `fixed` overrides them."""
    return open_client(Producer, {**(defaults or {}), **properties, **GUARANTEES, **(fixed or {})})


class GroupProducer:
    """Sends records group by group: a whole group is acknowledged before the next one is sent."""

    def __init__(self, properties: Mapping[str, str], topic: str) -> None:
        self._producer = open_producer(properties, fixed=_GROUPED)
        self._topic, self._address = topic, properties["bootstrap.servers"]

    def send(
        self,
        group: Sequence[tuple[bytes | None, bytes]],
        partition: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """`partition` applies to all records of the group. If it is None, each record's key chooses."""
        encoded_headers = [(name, value.encode()) for name, value in (headers or {}).items()]
        errors: list[KafkaError] = []
        target = PARTITION_BY_KEY if partition is None else partition

        def report(error: KafkaError | None, _message: Message) -> None:
            if error is not None:
                errors.append(error)

        for key, value in group:
            self._producer.produce(self._topic, value, key, target, on_delivery=report, headers=list(encoded_headers))
        unreported = self._producer.flush(_FLUSH_TIMEOUT_S)
        if errors or unreported:
            raise RECORDS_NOT_ACKNOWLEDGED(
                topic=self._topic,
                address=self._address,
                acknowledged=len(group) - max(len(errors), unreported),
                sent=len(group),
                reason=error_text(errors[0]) if errors else NO_DELIVERY_REPORT(timeout_s=_FLUSH_TIMEOUT_S),
            )


@dataclass(frozen=True)
class Received:
    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]

    @property
    def key_text(self) -> str:
        return (self.key or b"").decode("utf-8", errors="replace")

    @property
    def value_text(self) -> str:
        return (self.value or b"").decode("utf-8", errors="replace")

    def header(self, name: str) -> str | None:
        return next((value.decode("utf-8", errors="replace") for key, value in self.headers if key == name and value), None)


def read_records(
    admin: KafkaAdmin, topic: str, *, follow: bool, within: Mapping[int, OffsetRange] | None = None
) -> Iterator[Received]:
    """From the earliest retained record to the current end, or `within` these offsets. `follow` reads new records too."""
    ranges = admin.offset_ranges(topic) if within is None else within
    unfinished = {partition for partition, offsets in ranges.items() if offsets.end > offsets.earliest}
    if not unfinished and not follow:
        return
    consumer = admin.consumer({"enable.partition.eof": "true"})
    try:
        wanted = ranges if follow else unfinished
        consumer.assign([TopicPartition(topic, partition, ranges[partition].earliest) for partition in wanted])
        while follow or unfinished:
            for message in consumer.consume(1000, timeout=0.5):
                received = _received(message, admin)
                if isinstance(received, int):  # the end of that partition
                    unfinished.discard(received)
                elif follow or received.offset < ranges[received.partition].end:
                    yield received
                if isinstance(received, Received) and received.offset >= ranges[received.partition].end - 1:
                    unfinished.discard(received.partition)
    finally:
        consumer.close()


def _received(message: Message, admin: KafkaAdmin) -> Received | int:
    """The record, or the number of the partition that was read to its end."""
    error = message.error()
    if error is not None:
        if error.code() == KafkaError._PARTITION_EOF:
            return int(message.partition() or 0)
        raise admin.unreachable(KafkaException(error))
    return Received(
        str(message.topic()),
        int(message.partition() or 0),
        int(message.offset() or 0),
        int(message.timestamp()[1]),
        message.key(),
        message.value(),
        tuple(message.headers() or ()),  # type: ignore[arg-type]
    )


def latest_by_key(records: Iterable[Received]) -> dict[str, Received]:
    """The latest record of each key. A key is always in one partition, so its order is that of its offsets."""
    return {received.key_text: received for received in records if received.key is not None}


def has_record(admin: KafkaAdmin, topic: str, partition: int, offsets: OffsetRange) -> bool:
    """Whether any of these offsets is a record. Compaction, deletion and the marks of transactions leave offsets without one.

    As Spark's source reads: also records of transactions that are open, or were aborted.
    """
    consumer = admin.consumer({"enable.partition.eof": "true", "isolation.level": "read_uncommitted"})
    try:
        consumer.assign([TopicPartition(topic, partition, offsets.earliest)])
        while True:
            for message in consumer.consume(1, timeout=0.5):
                received = _received(message, admin)
                return isinstance(received, Received) and received.offset < offsets.end
    finally:
        consumer.close()
