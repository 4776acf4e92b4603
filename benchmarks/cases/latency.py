"""One record until its result is readable on the topic: the stream runs and is warm, one record at a time."""

from __future__ import annotations

import json
from collections.abc import Callable
from queue import SimpleQueue
from statistics import median
from time import monotonic
from uuid import uuid4

from confluent_kafka import Consumer, Producer, TopicPartition
from pyspark.sql.streaming.query import StreamingQuery

from anabranch.kafka.admin import KafkaAdmin
from anabranch.pipeline.builtin.browsers_stateful import BROWSERS_STATEFUL
from anabranch.pipeline.sinks import Results
from anabranch.streaming.query_events import EventListener
from benchmarks import plain
from benchmarks.case import Case, Figures, Goal, Place
from benchmarks.streams import start_ours

_WARM, _RECORDS = 30, 50
_PATIENCE_S = 60.0
_RESULTS = "browser-stats-stateful"


def _figures(place: Place, start: Callable[[Place, str], StreamingQuery]) -> Figures:
    """Each record is of a window of its own, so that its result is the next record on the topic."""
    topic = f"latency-{uuid4().hex[:8]}"
    KafkaAdmin(dict(place.kafka)).create(topic, 1)
    query, results = start(place, topic), _at_the_end(place)
    producer = Producer({**place.kafka, "linger.ms": 0})
    taken_s = []
    for number in range(_WARM + _RECORDS):
        begun_s = monotonic()
        producer.produce(topic, _visit(number))
        producer.flush()
        _await_one(results, query)
        taken_s.append(monotonic() - begun_s)
    query.stop()
    results.close()
    return {"one record": 1000 * median(taken_s[_WARM:])}


def _visit(number: int) -> bytes:
    time = f"2025-09-04T{7 + number // 60:02}:{number % 60:02}:00Z"
    return json.dumps({"user_id": "1", "page": "index", "event_time": time, "browser": f"b{number}"}).encode()


def _at_the_end(place: Place) -> Consumer:
    """A reader of what comes to the results from now on."""
    consumer = Consumer({**place.kafka, "group.id": "latency", "fetch.wait.max.ms": 5, "enable.auto.commit": False})
    partitions = consumer.list_topics(_RESULTS).topics[_RESULTS].partitions
    ends = [(one, consumer.get_watermark_offsets(TopicPartition(_RESULTS, one))[1]) for one in partitions]
    consumer.assign([TopicPartition(_RESULTS, one, end) for one, end in ends])
    return consumer


def _await_one(results: Consumer, query: StreamingQuery) -> None:
    deadline_s = monotonic() + _PATIENCE_S
    while monotonic() < deadline_s:
        if (message := results.poll(0.1)) is not None and message.error() is None:
            return
        if (error := query.exception()) is not None:
            raise error
    raise TimeoutError("no result came")


def _ours(place: Place) -> Figures:
    # As in `anabranch run`, which hears of every batch.
    place.spark.streams.addListener(EventListener(SimpleQueue()))
    pipeline = BROWSERS_STATEFUL.changed(sink=Results(_RESULTS), trigger_s=0.0)
    return _figures(place, lambda place, topic: start_ours(place, pipeline.reading(topic), "latency", until_caught_up=False))


def _plain(place: Place) -> Figures:
    return _figures(place, plain.browsers_of)


CASE = Case(
    name="latency",
    summary="one record until its result is readable, browsers-stateful",
    unit="ms",
    ours=_ours,
    plain=_plain,
    goals={"one record": Goal(at_most=0.35)},
)
