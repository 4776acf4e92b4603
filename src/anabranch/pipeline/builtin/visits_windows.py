"""Windows (seed 001): how many visits in each window, updated as they come."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anabranch as ab
from anabranch.pipeline.builtin.visits import VISITS
from anabranch.pipeline.declare import declared_pipeline

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@ab.pipeline(VISITS, window="10m", watermark="20m", key=("window",), mode="update", to=ab.console())
def visits_windows(visits: DataFrame) -> DataFrame:
    """Counts visits by 10-minute window."""
    return visits.groupBy("window").count()


VISITS_WINDOWS = declared_pipeline(visits_windows)
