"""The business logic that pipelines share: visits to counts. `DataFrame -> DataFrame`, the same for stream and batch.

No action, no clock, no session: a batch read knows no watermark, and there `withWatermark` does nothing.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, GroupedData
from pyspark.sql import functions as F

from anabranch.pipeline.definition import Pipeline


def count_by_window(visits: DataFrame, pipeline: Pipeline) -> DataFrame:
    return _by_window(visits, pipeline).count()


def count_with_last_event(visits: DataFrame, pipeline: Pipeline, *also_by: str) -> DataFrame:
    counted = _by_window(visits, pipeline, *also_by).agg(
        F.count(F.lit(1)).alias("count"), F.max("event_time").alias("last_event_time_in_window")
    )
    return counted.select(*also_by, "window", "count", "last_event_time_in_window")


def _by_window(visits: DataFrame, pipeline: Pipeline, *also_by: str) -> GroupedData:
    assert pipeline.window_s is not None
    return watermarked(visits, pipeline).groupBy(F.window("event_time", _interval(pipeline.window_s)), *also_by)


def watermarked(visits: DataFrame, pipeline: Pipeline) -> DataFrame:
    if pipeline.watermark_s is None:
        return visits
    return visits.withWatermark("event_time", _interval(pipeline.watermark_s))


def _interval(duration_s: float) -> str:
    return f"{round(duration_s * 1000)} milliseconds"


def utc_parts(event_time: str) -> list[Column]:
    """Year, month, day and hour in UTC, whatever the session's zone: from the epoch, so that no zone's gap is in between."""
    # In seconds: division makes a double of it, and that holds no microseconds of far years.
    seconds = F.unix_seconds(event_time)
    day = F.date_from_unix_date(F.floor(seconds / 86_400).cast("int"))
    hour = F.pmod(F.floor(seconds / 3_600), F.lit(24)).cast("int")
    return [F.year(day).alias("year"), F.month(day).alias("month"), F.day(day).alias("day"), hour.alias("hour")]
