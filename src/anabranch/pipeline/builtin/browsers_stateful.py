"""Browsers over all batches (seed 004): counts by window and browser, with the last event time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.pipeline.definition import Pipeline, Topic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def transform(visits: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    counted = visits.groupBy("window", "browser").agg(
        F.count(F.lit(1)).alias("count"), F.max("event_time").alias("last_event_time_in_window")
    )
    return counted.select("browser", "window", "count", "last_event_time_in_window")


BROWSERS_STATEFUL = Pipeline(
    name="browsers-stateful",
    summary="the same, over all batches",
    source_topic="visits",
    sink=Topic("browser-stats-stateful"),
    result_topic="browser-stats-stateful",
    transform=transform,
    output_mode="update",
    trigger_s=15,
    window_s=300,
    watermark_s=1200,
    grouping=("window", "browser"),
)
