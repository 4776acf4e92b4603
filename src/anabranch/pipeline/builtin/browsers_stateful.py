"""Seed 004: by window and browser, over all batches."""

from __future__ import annotations

from pyspark.sql import DataFrame

from anabranch.pipeline.definition import Pipeline
from anabranch.streaming.transforms import count_with_last_event


def transform(visits: DataFrame, pipeline: Pipeline) -> DataFrame:
    return count_with_last_event(visits, pipeline, "browser")
