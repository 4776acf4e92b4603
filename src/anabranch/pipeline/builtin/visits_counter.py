"""Closed windows (seed 002): how many visits in each window, once it is closed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anabranch as ab
from anabranch.pipeline.builtin.visits import VISITS
from anabranch.pipeline.builtin.visits_windows import visits_windows
from anabranch.pipeline.declare import declared_pipeline

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@ab.pipeline(VISITS, window="10m", watermark="10m", key=("window",), to=ab.results("visits_counter"))
def visits_counter(visits: DataFrame) -> DataFrame:
    """Counts visits by 10-minute window, closed windows only."""
    return visits_windows(visits)


VISITS_COUNTER = declared_pipeline(visits_counter)
