"""Follows a topic from its earliest retained record, for ever. What happens to it is said; no record is skipped in silence.

A topic that is not there yet is awaited, as is a Kafka that went away. A topic that was deleted and created again is read from
its beginning; so are partitions that were added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from time import monotonic

from confluent_kafka import Consumer, KafkaError, TopicPartition

from anabranch.checkpoint.layout import OffsetRange
from anabranch.errors import AnabranchError, Reason
from anabranch.kafka.admin import KafkaAdmin
from anabranch.kafka.messages import (
    KAFKA_AWAITED,
    KAFKA_BACK,
    KAFKA_UNREACHABLE,
    RECORDS_SKIPPED,
    TOPIC_AWAITED,
    TOPIC_GONE,
    TOPIC_MISSING,
    TOPIC_THERE,
)
from anabranch.kafka.records import Received, read_error, received_from

# How often it is looked whether the topic is there, is still the same one, and has further partitions.
_LOOK_EVERY_S = 1.0
_POLL_S = 0.2
# Their causes are found by the next look.
_PASSING = (
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_TOPIC,
    KafkaError._UNKNOWN_PARTITION,
    KafkaError._TRANSPORT,
    KafkaError._ALL_BROKERS_DOWN,
)


def follow_records(admin: KafkaAdmin, topic: str, tell: Callable[[Reason], None]) -> Iterator[Received | None]:
    """Its records as they come; None, several times a second, while there is none: the caller may look at other things."""
    followed = _Followed(admin, topic, tell, admin.consumer({}))
    try:
        while True:
            followed.look()
            messages = followed.consumer.consume(1000, timeout=_POLL_S)
            if not messages:
                yield None
            for message in messages:
                partition, offset = int(message.partition() or 0), int(message.offset() or 0)
                if (error := message.error()) is None:
                    followed.next_offsets[partition] = offset + 1
                    yield received_from(message)
                elif error.code() == KafkaError._AUTO_OFFSET_RESET:
                    followed.lose(partition)
                elif error.code() not in _PASSING:
                    raise read_error(error, topic, partition, offset, admin)
    finally:
        followed.consumer.close()


@dataclass
class _Followed:
    """The topic as it was when it was last looked at."""

    admin: KafkaAdmin
    topic: str
    tell: Callable[[Reason], None]
    consumer: Consumer
    # Of each partition that is read, the offset that comes next.
    next_offsets: dict[int, int] = field(default_factory=dict)
    # Those of them whose next offset Kafka does not have.
    lost: set[int] = field(default_factory=set)
    topic_id: str | None = None
    looked_at_s: float = float("-inf")
    # The code of what is being waited for.
    waiting: str | None = None
    answered: bool = False

    def look(self) -> None:
        if monotonic() - self.looked_at_s < _LOOK_EVERY_S:
            return
        try:
            ranges = self.admin.offset_ranges(self.topic)
            topic_id = self.admin.topic_id(self.topic)
        except AnabranchError as error:
            self._wait(error)
        else:
            self._found(topic_id, ranges)
        self.looked_at_s = monotonic()

    def lose(self, partition: int) -> None:
        """The offset that comes next there is gone. The next look, which is due at once, finds out why."""
        self.lost.add(partition)
        self.looked_at_s = float("-inf")

    def _wait(self, error: AnabranchError) -> None:
        # A Kafka that has never answered may be a wrong address.
        awaited = (TOPIC_MISSING.code, KAFKA_UNREACHABLE.code) if self.answered else (TOPIC_MISSING.code,)
        if error.code not in awaited:
            raise error
        self.answered = True
        if self.waiting != error.code:
            self.waiting = error.code
            self.tell(self._awaited(error))
        if error.code == TOPIC_MISSING.code and self.topic_id is not None:
            self.topic_id, self.next_offsets = None, {}
            self._assign()

    def _awaited(self, error: AnabranchError) -> Reason:
        if error.code == KAFKA_UNREACHABLE.code:
            return KAFKA_AWAITED(address=self.admin.address)
        if self.topic_id is None:
            return TOPIC_AWAITED(topic=self.topic, address=self.admin.address)
        return TOPIC_GONE(topic=self.topic)

    def _found(self, topic_id: str, ranges: Mapping[int, OffsetRange]) -> None:
        if self.waiting == KAFKA_UNREACHABLE.code:
            self.tell(KAFKA_BACK(address=self.admin.address))
        if self.topic_id is None and self.waiting == TOPIC_MISSING.code:
            self.tell(TOPIC_THERE(topic=self.topic))
        elif self.topic_id not in (None, topic_id):
            self.tell(TOPIC_GONE(topic=self.topic))
            self.tell(TOPIC_THERE(topic=self.topic))
            self.next_offsets = {}
        self.waiting, self.topic_id, self.answered = None, topic_id, True
        changed = {partition: held.earliest for partition, held in ranges.items() if partition not in self.next_offsets}
        for partition in self.lost & self.next_offsets.keys() & ranges.keys():
            changed[partition] = self._behind_the_loss(partition, ranges[partition])
        self.lost.clear()
        if changed:
            self.next_offsets |= changed
            self._assign()

    def _behind_the_loss(self, partition: int, held: OffsetRange) -> int:
        """Retention was faster than we, or a broker has lost its newest records: those had been read."""
        expected = self.next_offsets[partition]
        if held.earliest <= expected:
            return min(expected, held.end)
        skipped = held.earliest - expected
        self.tell(RECORDS_SKIPPED(topic=self.topic, partition=partition, records=skipped, offset=expected))
        return held.earliest

    def _assign(self) -> None:
        """To a new client: one that knows the topic as it was reads no partition that was added or created again."""
        self.consumer.close()
        self.consumer = self.admin.consumer({})
        self.consumer.assign([TopicPartition(self.topic, partition, offset) for partition, offset in self.next_offsets.items()])
