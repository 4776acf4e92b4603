"""The plain way: each job as a reader of the seeds' texts would write it, with from_json alone."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from benchmarks.case import Place

# The fields that each seed's job reads; the names are those of the generated visits.
_VISIT = "event_id STRING, visit_id STRING, event_time TIMESTAMP"
_BROWSER = "user_id STRING, page STRING, event_time TIMESTAMP, browser STRING"


def windows(place: Place, max_offsets: int) -> StreamingQuery:
    """Seed 001."""
    counted = read_visits(place, "visits", max_offsets, _VISIT).withWatermark("event_time", "20 minutes")
    results = counted.groupBy(F.window("event_time", "10 minutes")).count()
    return start(place, "windows", results.writeStream.outputMode("update").format("console").option("truncate", "false"))


def counter(place: Place, max_offsets: int) -> StreamingQuery:
    """Seed 002."""
    visits = read_visits(place, "visits", max_offsets, _VISIT).withWatermark("event_time", "10 minutes")
    results = visits.groupBy(F.window("event_time", "10 minutes")).count()
    return start(place, "counter", _to_topic(place, results, "visits_counter").outputMode("append"))


def browsers(place: Place, max_offsets: int) -> StreamingQuery:
    """Seed 004."""
    return start(place, "browsers", _browsers(place, "visits", max_offsets))


def browsers_of(place: Place, topic: str) -> StreamingQuery:
    """The same on another topic, until it is stopped."""
    checkpoint = str(place.directory / "checkpoints" / topic)
    return _browsers(place, topic, None).option("checkpointLocation", checkpoint).start()


def _browsers(place: Place, topic: str, max_offsets: int | None) -> DataStreamWriter:
    visits = read_visits(place, topic, max_offsets, _BROWSER).withWatermark("event_time", "20 minutes")
    results = visits.groupBy(F.window("event_time", "5 minutes"), "browser").agg(
        F.count(F.lit(1)).alias("count"), F.max("event_time").alias("last_event_time_in_window")
    )
    return _to_topic(place, results, "browser-stats-stateful").outputMode("update")


def read_visits(place: Place, topic: str, max_offsets: int | None, schema: str) -> DataFrame:
    options = {f"kafka.{name}": value for name, value in place.kafka.items()}
    if max_offsets is not None:
        options["maxOffsetsPerTrigger"] = str(max_offsets)
    records = (
        place.spark.readStream.format("kafka")
        .options(**options)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .load()
    )
    return records.select(F.from_json(F.col("value").cast("string"), schema).alias("value")).select("value.*")


def start(place: Place, name: str, writer: DataStreamWriter) -> StreamingQuery:
    checkpoint = str(place.directory / "checkpoints" / name)
    return writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()


def _to_topic(place: Place, results: DataFrame, topic: str) -> DataStreamWriter:
    options = {f"kafka.{name}": value for name, value in place.kafka.items()}
    value = F.to_json(F.struct(*results.columns)).alias("value")
    return results.select(value).writeStream.format("kafka").options(**options).option("topic", topic)
