"""Records to and from topics, by the Python client: whole groups out, everything that is there in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from confluent_kafka import KafkaError, KafkaException, Message, Producer, TopicPartition

from anabranch.checkpoint.offsets import OffsetRange
from anabranch.errors import Failed
from anabranch.kafka.admin import QUICK, QUIET_LOGGER, SILENT, Topics
from anabranch.kafka.properties import PROMISES

# Longer than it takes to hand a group over: what was read together leaves as one batch, at the flush.
_TOGETHER = {"linger.ms": "1000", "batch.num.messages": "100000"}
_DELIVERY_TIMEOUT_S = 30.0
_BY_KEY = -1  # librdkafka's "unassigned": the partitioner chooses


class GroupProducer:
    """Sends records group by group; a group is acknowledged as a whole before the next one is taken."""

    def __init__(self, properties: Mapping[str, str], topic: str) -> None:
        timeout = {"delivery.timeout.ms": str(round(_DELIVERY_TIMEOUT_S * 1000))}
        self._producer = Producer({**SILENT, **QUICK, **properties, **PROMISES, **_TOGETHER, **timeout}, logger=QUIET_LOGGER)
        self._topic, self._address = topic, properties["bootstrap.servers"]

    def send(
        self,
        group: Sequence[tuple[bytes | None, bytes]],
        partition: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """`partition` holds for records without a key; None lets each record's key choose."""
        marks = [(name, value.encode()) for name, value in (headers or {}).items()]
        errors: list[KafkaError] = []
        place = _BY_KEY if partition is None else partition

        def report(error: KafkaError | None, _message: Message) -> None:
            if error is not None:
                errors.append(error)

        for key, value in group:
            self._producer.produce(self._topic, value, key, place, on_delivery=report, headers=list(marks))
        left = self._producer.flush(_DELIVERY_TIMEOUT_S + 1)
        if errors or left:
            reason = errors[0].str() if errors else "no answer"
            raise Failed(
                f"{max(len(errors), left)} of {len(group)} records were not acknowledged by {self._address}: {reason}.",
                "anabranch broker status",
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
    topics: Topics, topic: str, *, follow: bool, within: Mapping[int, OffsetRange] | None = None
) -> Iterator[Received]:
    """From the beginning to where the topic ends now, or `within` these offsets; with `follow`, and on."""
    reach = topics.reach(topic) if within is None else within
    open_partitions = {partition for partition, held in reach.items() if held.end > held.earliest}
    if not open_partitions and not follow:
        return
    consumer = topics.consumer({"enable.partition.eof": "true"})
    try:
        wanted = reach if follow else open_partitions
        consumer.assign([TopicPartition(topic, partition, reach[partition].earliest) for partition in wanted])
        while follow or open_partitions:
            for message in consumer.consume(1000, timeout=0.5):
                received = _received(message, topics)
                if isinstance(received, int):  # that partition has been read to its end
                    open_partitions.discard(received)
                elif follow or received.offset < reach[received.partition].end:
                    yield received
                if isinstance(received, Received) and received.offset >= reach[received.partition].end - 1:
                    open_partitions.discard(received.partition)
    finally:
        consumer.close()


def _received(message: Message, topics: Topics) -> Received | int:
    error = message.error()
    if error is not None:
        if error.code() == KafkaError._PARTITION_EOF:
            return int(message.partition() or 0)
        raise topics.away(KafkaException(error))
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
    """For one key the latest record wins; a key is always in the same partition, so its order is that of offsets."""
    return {received.key_text: received for received in records if received.key is not None}
