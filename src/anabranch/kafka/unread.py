"""How long records wait: the Kafka timestamps of the first unread ones. One consumer, a few small fetches, a short bound."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from time import monotonic

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from anabranch.kafka.admin import KafkaAdmin

# One record of each partition is wanted: a broker sends whole batches, and at least one.
_SMALL_FETCHES = {
    "fetch.message.max.bytes": "65536",
    "queued.min.messages": "1",
    # A broker holds a fetch at the end of a partition back for so long, and the client its next one: with their defaults, half
    # a second and one, the places of 7 pipelines took more than 5 s; with these 0.03 s.
    "fetch.wait.max.ms": "10",
    "fetch.queue.backoff.ms": "1",
    "enable.partition.eof": "true",
}


@dataclass(frozen=True)
class Place:
    topic: str
    partition: int
    offset: int


def first_timestamps_ms(admin: KafkaAdmin, places: Collection[Place], timeout_s: float) -> Mapping[Place, int | None]:
    """Of the first record at or behind each place; None: there is none. A place without an answer in time is left out."""
    deadline_s = monotonic() + timeout_s
    found: dict[Place, int | None] = {}
    left = list(dict.fromkeys(places))
    if not left:
        return found
    consumer = admin.consumer(_SMALL_FETCHES)
    try:
        while left and monotonic() < deadline_s:
            # A consumer has one position in each partition: places in the same one take turns.
            turn = {(place.topic, place.partition): place for place in reversed(left)}
            found |= _ask(consumer, turn, deadline_s)
            left = [place for place in left if place not in turn.values()]
    finally:
        consumer.close()
    return found


def _ask(consumer: Consumer, turn: dict[tuple[str, int], Place], deadline_s: float) -> dict[Place, int | None]:
    found: dict[Place, int | None] = {}
    waiting = dict(turn)
    consumer.assign([TopicPartition(place.topic, place.partition, place.offset) for place in waiting.values()])
    while waiting and (left_s := deadline_s - monotonic()) > 0:
        try:
            message = consumer.poll(left_s)
        except KafkaException:
            break
        if message is None:
            break
        place = waiting.pop((str(message.topic()), int(message.partition() or 0)), None)
        if place is None:
            # A second record of that partition.
            continue
        error = message.error()
        if error is None:
            timestamp_ms = int(message.timestamp()[1])
            # Below: the record has none.
            if timestamp_ms > 0:
                found[place] = timestamp_ms
        elif error.code() == KafkaError._PARTITION_EOF:
            found[place] = None
    return found
