"""Windows again, from the lake: the same decoder and the same transformation as the stream's, on a batch read."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from anabranch.delta.hours import HOUR_SQL
from anabranch.pipeline.definition import Pipeline
from anabranch.pipeline.schema import quoted
from anabranch.pipeline.windows import windows_of
from anabranch.reprocess.plan import Range, hours_of, times_of
from anabranch.streaming.decoder.decode import decode
from anabranch.streaming.results import as_records
from anabranch.streaming.sql import literal
from anabranch.streaming.transforms import transformed, without_problems


def recompute(
    spark: SparkSession, pipeline: Pipeline, wanted: Range, *, lake: str, version: int, zone: str
) -> list[tuple[str, str]]:
    """Key and value of each result in the range, by today's rules, at one version of the lake."""
    topic, windows = pipeline.topic, windows_of(pipeline)
    times = times_of(wanted, windows)
    stored = _records(spark, topic.name, times, lake, version)
    decoded = decode(stored, topic, zone=zone, future_tolerance_s=pipeline.future_tolerance_s, skip=pipeline.skip)
    inside = without_problems(decoded).where(_within(quoted(topic.event_time), times))
    results = transformed([inside], pipeline)
    if windows.slide_ms != windows.length_ms:
        # Their records are also in windows before and behind the range, which lack others.
        results = results.where(_within("window.start", wanted))
    return [(row["key"], row["value"]) for row in as_records(results, pipeline.grouping).collect()]


def _within(time: str, wanted: Range) -> str:
    return f"{time} >= timestamp_millis({wanted.start_ms}) AND {time} < timestamp_millis({wanted.end_ms})"


def _records(spark: SparkSession, topic: str, times: Range, lake: str, version: int) -> DataFrame:
    """Only the partitions of these hours, and the one of records that had no usable time under the rules of their day."""
    first, last = hours_of(times)
    table = spark.read.format("delta").option("versionAsOf", version).load(lake)
    return table.where(f"topic = {literal(topic)} AND ({HOUR_SQL} BETWEEN {first} AND {last} OR year IS NULL)").selectExpr(
        "value", "topic", "partition", "offset", "record_time AS timestamp"
    )
