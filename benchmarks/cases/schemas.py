"""The decoder by schema: 100,000 rows a batch of 12 mixed fields, and of a struct and an array, every field read."""

from __future__ import annotations

from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from anabranch.pipeline.topic import Topic
from anabranch.streaming.decoder.decode import decode
from anabranch.streaming.source import read_stream
from anabranch.streaming.transforms import without_problems
from benchmarks import plain
from benchmarks.case import Case, Figures, Goal, Place
from benchmarks.orders import FLAT, NESTED
from benchmarks.streams import StartPlain, full_batches, rows_per_s

_ROWS = 100_000
_TOPICS = {"12 mixed fields": FLAT, "a struct and an array": NESTED}


def _start(place: Place, rows: int, topic: Topic, *, is_plain: bool) -> StreamingQuery:
    if is_plain:
        records = plain.read_visits(place, topic.name, rows, topic.schema.ddl().replace(" NOT NULL", ""))
    else:
        source = read_stream(place.spark, place.kafka, topic.name, start="earliest", max_offsets=rows)
        records = without_problems(decode(source, topic, zone="UTC", future_tolerance_s=3600))
    return plain.start(place, topic.name, _counted(records, topic).writeStream.outputMode("update").format("noop"))


def _counted(records: DataFrame, topic: Topic) -> DataFrame:
    """By window and country, and a hash of all fields: each is made."""
    every_field = F.sum(F.xxhash64(*(F.to_json(F.struct(name)) for name in topic.schema.names)).bitwiseAND(0xFF))
    windows = records.withWatermark("placed_at", "20 minutes").groupBy(F.window("placed_at", "10 minutes"), "country")
    return windows.agg(F.count(F.lit(1)), every_field)


def _figures(place: Place, *, is_plain: bool) -> Figures:
    def measured(topic: Topic, reading: str) -> float:
        place.say(f"{topic.name}, {reading} reading")
        start: StartPlain = partial(_start, topic=topic, is_plain=is_plain)
        here = Place(place.spark, place.kafka, place.directory / reading, place.shared, place.say)
        return rows_per_s(full_batches(here, start(here, _ROWS), _ROWS))

    for topic in _TOPICS.values():
        measured(topic, "cold")
    return {name: measured(topic, "warm") for name, topic in _TOPICS.items()}


CASE = Case(
    name="schemas",
    summary="100,000 rows a batch of schemas of one's own, with all rules, every field read",
    unit="rows/s",
    ours=partial(_figures, is_plain=False),
    plain=partial(_figures, is_plain=True),
    goals=dict.fromkeys(_TOPICS, Goal(at_least=1.0)),
)
