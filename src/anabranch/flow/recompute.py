"""Windows again, from the lake: the same decoder and the same transformation as the stream's, on a batch read."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from anabranch.core.pipeline import Pipeline
from anabranch.core.reprocess import Range, partitions_of
from anabranch.flow.event import decode
from anabranch.flow.pipeline import load_transformation, usable
from anabranch.flow.result import as_records


def recompute(
    spark: SparkSession, pipeline: Pipeline, wanted: Range, *, lake: str, version: int, zone: str
) -> list[tuple[str, str]]:
    """Key and value of each result in the range, by today's rules, at one version of the lake."""
    records = _records(spark, wanted, lake, version).where(F.col("topic") == pipeline.source_topic)
    visits = usable(decode(records, zone=zone, future_tolerance_s=pipeline.future_tolerance_s))
    inside = visits.where((F.col("event_time") >= _moment(wanted.start_ms)) & (F.col("event_time") < _moment(wanted.end_ms)))
    results = as_records(load_transformation(pipeline).transform(inside), pipeline.grouping)
    return [(row["key"], row["value"]) for row in results.collect()]


def _records(spark: SparkSession, wanted: Range, lake: str, version: int) -> DataFrame:
    """Only the partitions of these hours, and the one of records that had no usable time under the rules of their day."""
    first, last = partitions_of(wanted)
    # As a long: an int ends in the year 2147.
    hour = F.col("year").cast("long") * 1_000_000 + F.col("month") * 10_000 + F.col("day") * 100 + F.col("hour")
    table = spark.read.format("delta").option("versionAsOf", version).load(lake)
    return table.where(hour.between(first, last) | F.col("year").isNull()).select(
        "value", "topic", "partition", "offset", F.col("record_time").alias("timestamp")
    )


def _moment(moment_ms: int) -> Column:
    return F.timestamp_millis(F.lit(moment_ms))
