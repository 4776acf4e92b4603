"""The one decoder: what a Kafka record says by its topic's schema, or which problem it has. Stream and batch alike.

One expression in Scala (Decode.scala, RecordReader.scala) reads a record; here it is put into a frame. No action, no clock, no
session. It does not know which pipeline asks, and what it says of a record depends on nothing but the record, its topic and the
three parameters. It never throws, whatever the bytes. docs/internals/decoder.md has the rules.

What the result holds, in this order:

    the schema's fields                       typed, each may be null; to be trusted only where _problem is null, but
    the event time among them                 always null where it cannot be used
    _problem                                  null: a good record
    _topic, _partition, _offset, _record_time where the record is, and Kafka's own time of it
    _key, _value, _headers                    as they came, where the source has them
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from anabranch.pipeline.schema import quoted
from anabranch.pipeline.topic import Topic
from anabranch.streaming.sql import literal

# The problem of a record that the settings leave out.
SKIPPED: Final = "skipped"

_COORDINATES: Final = ("topic", "partition", "offset")
_BYTES: Final = ("key", "value", "headers")


def decode(
    records: DataFrame, topic: Topic, *, zone: str, future_tolerance_s: float | None, skip: Sequence[str] = ()
) -> DataFrame:
    """The records of a topic, typed. A time without a zone is in `zone`; a tolerance of None lets any future pass.

    Records to skip, TOPIC:PARTITION:OFFSET, have a problem of their own, whatever else is wrong with them.
    """
    as_they_came = [name for name in _BYTES if name in records.columns]
    # Renamed: a schema may have fields of these names.
    kept = [F.expr(f"{name} AS _{name}") for name in (*_COORDINATES, *as_they_came)]
    decoded = F.inline(F.array(_decoded(records, topic, zone, future_tolerance_s)))
    return records.select(*kept, F.expr("timestamp AS _record_time"), decoded).selectExpr(
        *map(quoted, topic.schema.names),
        f"{_problem(skip)} AS _problem",
        *(f"_{name}" for name in _COORDINATES),
        "_record_time",
        *(f"_{name}" for name in as_they_came),
    )


def typed(records: DataFrame, topic: Topic, *, zone: str, future_tolerance_s: float | None) -> DataFrame:
    """The same of records whose columns `event_time` and `problem` say already what decoding would.

    A field is decoded for each use of it: for plans that use none but the event time.
    """
    decoded = _decoded(records, topic, zone, future_tolerance_s)
    fields = [
        (F.col("event_time") if name == topic.event_time else decoded.getField(name)).alias(name) for name in topic.schema.names
    ]
    kept = [F.expr(f"{name} AS _{name}") for name in ("problem", *_COORDINATES)]
    return records.select(*fields, *kept, F.expr("timestamp AS _record_time"))


def _decoded(records: DataFrame, topic: Topic, zone: str, future_tolerance_s: float | None) -> Column:
    """Behind a generator (`inline`), so that it is evaluated once.

    Spark would copy a plain column's expression into every filter and column that uses it.
    """
    described = {
        "schema": topic.schema.ddl(),
        "event_time": topic.event_time,
        "keys": {name: topic.spellings(name) for name in topic.schema.names},
        "integers_as_text": topic.integers_as_text,
        "zone": zone,
        "future_tolerance_us": None if future_tolerance_s is None else round(future_tolerance_s * 1_000_000),
    }
    jvm = records.sparkSession._jvm
    assert jvm is not None
    columns = jvm.org.apache.spark.sql.classic.ExpressionUtils
    value, record_time = (columns.expression(records[name]._jc) for name in ("value", "timestamp"))
    return Column(columns.column(jvm.anabranch.Decode.of(value, record_time, json.dumps(described))))


def _problem(skip: Sequence[str]) -> str:
    """Nothing is added where nothing is skipped: the plan is as it was."""
    if not skip:
        return "_problem"
    coordinates = ", ".join(f"({literal(topic)}, {partition}, {offset}L)" for topic, partition, offset in map(_place, skip))
    return f"CASE WHEN (_topic, _partition, _offset) IN ({coordinates}) THEN '{SKIPPED}' ELSE _problem END"


def _place(record: str) -> tuple[str, int, int]:
    topic, partition, offset = record.rsplit(":", 2)
    return topic, int(partition), int(offset)
