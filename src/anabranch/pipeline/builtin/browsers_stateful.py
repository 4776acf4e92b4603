"""Browsers over all batches (seed 004): counts by window and browser, with the last event time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anabranch as ab
from anabranch.pipeline.builtin.visits import VISITS
from anabranch.pipeline.declare import declared_pipeline

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@ab.pipeline(
    VISITS,
    window="5m",
    watermark="20m",
    key=("window", "browser"),
    mode="update",
    trigger="15s",
    to=ab.results("browser-stats-stateful"),
)
def browsers_stateful(visits: DataFrame) -> DataFrame:
    """Counts by 5-minute window and browser over all batches, with the last event time."""
    from pyspark.sql import functions as F

    counted = visits.groupBy("window", "browser").agg(
        F.count(F.lit(1)).alias("count"), F.max("event_time").alias("last_event_time_in_window")
    )
    return counted.select("browser", "window", "count", "last_event_time_in_window")


BROWSERS_STATEFUL = declared_pipeline(browsers_stateful)
