"""Closed windows (seed 002): how many visits in each window, once it is closed."""

from __future__ import annotations

from anabranch.pipeline.builtin.visits_windows import transform
from anabranch.pipeline.definition import Pipeline, Topic

VISITS_COUNTER = Pipeline(
    name="visits-counter",
    summary="counts visits by 10-minute window, closed windows only",
    source_topic="visits",
    sink=Topic("visits_counter"),
    result_topic="visits_counter",
    transform=transform,
    window_s=600,
    watermark_s=600,
    grouping=("window",),
)
