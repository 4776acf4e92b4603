"""Seed 004: by window and browser, over all batches."""

from __future__ import annotations

from pyspark.sql import DataFrame

from anabranch.core.pipeline import Pipeline
from anabranch.flow.transform import count_with_last_event


def transform(visits: DataFrame, pipeline: Pipeline) -> DataFrame:
    return count_with_last_event(visits, pipeline, "browser")
