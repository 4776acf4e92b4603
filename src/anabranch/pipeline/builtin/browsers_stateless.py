"""Browsers within each batch (seed 004): the same transformation as over all batches, only the scope differs."""

from __future__ import annotations

from anabranch.pipeline.builtin.browsers_stateful import transform
from anabranch.pipeline.definition import Pipeline, Topic

BROWSERS_STATELESS = Pipeline(
    name="browsers-stateless",
    summary="counts by 5-minute window and browser within each batch, with the last event time",
    source_topic="visits",
    sink=Topic("browser-stats-stateless"),
    result_topic="browser-stats-stateless",
    transform=transform,
    trigger_s=15,
    window_s=300,
    grouping=("window", "browser"),
    per_batch=True,
)
