"""Windows (seed 001): how many visits in each window, updated as they come."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.pipeline.definition import Console, Pipeline

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def transform(visits: DataFrame) -> DataFrame:
    return visits.groupBy("window").count()


VISITS_WINDOWS = Pipeline(
    name="visits-windows",
    summary="counts visits by 10-minute window",
    source_topic="visits",
    sink=Console(),
    result_topic="visits_windows",
    transform=transform,
    output_mode="update",
    window_s=600,
    watermark_s=1200,
    grouping=("window",),
)
