"""Seed 000: every visit, printed with the partition of the task that read it."""

from __future__ import annotations

from pyspark.sql import DataFrame

from anabranch.pipeline.definition import Pipeline
from anabranch.streaming.sinks.console import visit_lines


def transform(visits: DataFrame, _pipeline: Pipeline) -> DataFrame:
    return visits.select("visit_id", "event_time", "page")


console = visit_lines
