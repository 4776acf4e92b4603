"""Records to and from topics through the Python client: sends whole groups, reads all that a topic retains.

The one place that opens a producer, with the guarantees that every record of ours is sent with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from confluent_kafka import KafkaError, KafkaException, Message, Producer, TopicPartition

from anabranch.checkpoint.layout import OffsetRange
from anabranch.errors import Failed
from anabranch.kafka.admin import KafkaAdmin, cause_of, error_text, open_client
from anabranch.kafka.messages import NO_DELIVERY_REPORT, RECORD_TOO_LARGE, RECORDS_DELETED, RECORDS_NOT_ACKNOWLEDGED

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
# librdkafka's default of message.max.bytes, which a user's properties may change.
_MOST_BYTES = 1_000_000
# A queue that is full has space again as soon as the broker has acknowledged something.
_QUEUE_POLL_S = 0.1


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
        # Of a record: its key and its value.
        self.most_bytes = int(properties.get("message.max.bytes", _MOST_BYTES))

    def send(
        self,
        group: Sequence[tuple[bytes | None, bytes]],
        partition: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> dict[int, OffsetRange]:
        """`partition` applies to all records of the group. If it is None, each record's key chooses.

        The offsets of each partition between which the group was acknowledged; other writers may have some of them.
        """
        encoded_headers = [(name, value.encode()) for name, value in (headers or {}).items()]
        # Each with the size of its record.
        errors: list[tuple[KafkaError, int]] = []
        offsets: dict[int, OffsetRange] = {}
        acknowledged = 0

        def report(error: KafkaError | None, message: Message) -> None:
            nonlocal acknowledged
            if error is not None:
                errors.append((error, len(message.value() or b"")))
                return
            acknowledged += 1
            at, offset = int(message.partition() or 0), int(message.offset() or 0)
            held = offsets.get(at, OffsetRange(offset, offset))
            offsets[at] = OffsetRange(min(held.earliest, offset), max(held.end, offset + 1))

        target = PARTITION_BY_KEY if partition is None else partition
        for key, value in group:
            if (refused := self._enqueue(value, key, target, report, encoded_headers)) is not None:
                errors.append((refused, len(value) + len(key or b"")))
                break
        unreported = self._producer.flush(_FLUSH_TIMEOUT_S)
        if errors or unreported:
            raise self._undelivered(errors, acknowledged, len(group))
        return offsets

    def _undelivered(self, errors: Sequence[tuple[KafkaError, int]], acknowledged: int, sent: int) -> Failed:
        where = {"topic": self._topic, "address": self._address, "acknowledged": acknowledged, "sent": sent}
        if not errors:
            return RECORDS_NOT_ACKNOWLEDGED(**where, reason=NO_DELIVERY_REPORT(timeout_s=_FLUSH_TIMEOUT_S))
        error, size = errors[0]
        if error.code() == KafkaError.MSG_SIZE_TOO_LARGE:
            return RECORD_TOO_LARGE(**where, size=size)
        return RECORDS_NOT_ACKNOWLEDGED(**where, reason=error_text(error))

    def _enqueue(
        self, value: bytes, key: bytes | None, partition: int, report: Callable[..., None], headers: Sequence[tuple[str, bytes]]
    ) -> KafkaError | None:
        """Why the client does not take the record at all, as one that is too large."""
        while True:
            try:
                self._producer.produce(self._topic, value, key, partition, on_delivery=report, headers=list(headers))
            except BufferError:
                self._producer.poll(_QUEUE_POLL_S)
            except KafkaException as error:
                return cause_of(error)
            else:
                return None


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
    admin: KafkaAdmin,
    topic: str,
    *,
    within: Mapping[int, OffsetRange] | None = None,
    isolation: Literal["read_committed", "read_uncommitted"] = "read_committed",
) -> Iterator[Received]:
    """From the earliest retained record to the current end, or `within` these offsets."""
    ranges = admin.offset_ranges(topic) if within is None else within
    unfinished = {partition for partition, offsets in ranges.items() if offsets.end > offsets.earliest}
    if not unfinished:
        return
    consumer = admin.consumer({"enable.partition.eof": "true", "isolation.level": isolation})
    try:
        consumer.assign([TopicPartition(topic, partition, ranges[partition].earliest) for partition in unfinished])
        while unfinished:
            for message in consumer.consume(1000, timeout=0.5):
                partition, offset = int(message.partition() or 0), int(message.offset() or 0)
                if (error := message.error()) is not None:
                    if error.code() != KafkaError._PARTITION_EOF:
                        raise read_error(error, topic, partition, offset, admin)
                    unfinished.discard(partition)
                    continue
                if offset < ranges[partition].end:
                    yield received_from(message)
                if offset >= ranges[partition].end - 1:
                    unfinished.discard(partition)
    finally:
        consumer.close()


def read_error(error: KafkaError, topic: str, partition: int, offset: int, admin: KafkaAdmin) -> Failed:
    if error.code() == KafkaError._AUTO_OFFSET_RESET:
        return RECORDS_DELETED(topic=topic, partition=partition, offset=offset)
    return admin.unreachable(KafkaException(error))


def received_from(message: Message) -> Received:
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
    return next(read_records(admin, topic, within={partition: offsets}, isolation="read_uncommitted"), None) is not None
