"""Windows again, from the lake: the same decoder and the same transformation as the stream's, on a batch read."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from anabranch.delta.hours import HOUR_SQL
from anabranch.pipeline.definition import Pipeline
from anabranch.reprocess.plan import Range, hours_of
from anabranch.streaming.decoder.decode import decode
from anabranch.streaming.decoder.sql import literal
from anabranch.streaming.results import as_records
from anabranch.streaming.transforms import transformed, without_problems


def recompute(
    spark: SparkSession, pipeline: Pipeline, wanted: Range, *, lake: str, version: int, zone: str
) -> list[tuple[str, str]]:
    """Key and value of each result in the range, by today's rules, at one version of the lake."""
    stored = _records(spark, pipeline.source_topic, wanted, lake, version)
    records = without_problems(decode(stored, zone=zone, future_tolerance_s=pipeline.future_tolerance_s, skip=pipeline.skip))
    inside = records.where(
        f"event_time >= timestamp_millis({wanted.start_ms}) AND event_time < timestamp_millis({wanted.end_ms})"
    )
    results = as_records(transformed(inside, pipeline), pipeline.grouping)
    return [(row["key"], row["value"]) for row in results.collect()]


def _records(spark: SparkSession, topic: str, wanted: Range, lake: str, version: int) -> DataFrame:
    """Only the partitions of these hours, and the one of records that had no usable time under the rules of their day."""
    first, last = hours_of(wanted)
    table = spark.read.format("delta").option("versionAsOf", version).load(lake)
    return table.where(f"topic = {literal(topic)} AND ({HOUR_SQL} BETWEEN {first} AND {last} OR year IS NULL)").selectExpr(
        "value", "topic", "partition", "offset", "record_time AS timestamp"
    )
