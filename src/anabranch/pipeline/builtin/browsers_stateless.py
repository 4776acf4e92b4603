"""Browsers within each batch (seed 004): the same transformation as over all batches, only the scope differs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anabranch as ab
from anabranch.pipeline.builtin.browsers_stateful import browsers_stateful
from anabranch.pipeline.builtin.visits import VISITS
from anabranch.pipeline.declare import declared_pipeline

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@ab.pipeline(
    VISITS, window="5m", key=("window", "browser"), scope="batch", trigger="15s", to=ab.results("browser-stats-stateless")
)
def browsers_stateless(visits: DataFrame) -> DataFrame:
    """Counts by 5-minute window and browser within each batch, with the last event time."""
    return browsers_stateful(visits)


BROWSERS_STATELESS = declared_pipeline(browsers_stateless)
