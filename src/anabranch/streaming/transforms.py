"""What every pipeline's input goes through before its transformation, the same for stream and batch.

No action, no clock, no session: a batch read knows no watermark, and there `withWatermark` does nothing.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from anabranch.pipeline.definition import Pipeline

# The name under which a batch's progress carries what was counted on the way.
COUNTED = "decoded"


def transformed(records: DataFrame, pipeline: Pipeline) -> DataFrame:
    """The pipeline's results from usable records: watermark, window, transformation."""
    return pipeline.transform(windowed(watermarked(records, pipeline), pipeline))


def count_records(records: DataFrame) -> DataFrame:
    """Records, and those with a problem, are counted on the way, so that none vanishes without a trace."""
    return records.observe(COUNTED, F.count(F.lit(1)).alias("records"), F.count("problem").alias("problems"))


def without_problems(records: DataFrame) -> DataFrame:
    return records.where("problem is null")


def watermarked(records: DataFrame, pipeline: Pipeline) -> DataFrame:
    if pipeline.watermark_s is None:
        return records
    return records.withWatermark("event_time", _interval(pipeline.watermark_s))


def windowed(records: DataFrame, pipeline: Pipeline) -> DataFrame:
    """With the column `window`: grouped by it, Spark closes and evicts as with F.window in the grouping itself."""
    if pipeline.window_s is None:
        return records
    return records.withColumn("window", F.window("event_time", _interval(pipeline.window_s)))


def _interval(duration_s: float) -> str:
    return f"{round(duration_s * 1000)} milliseconds"
