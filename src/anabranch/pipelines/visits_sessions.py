"""Seed 003: pages so far for each visit, then once more when it is finished."""

from __future__ import annotations

from pyspark.sql import DataFrame

from anabranch.core.pipeline import Pipeline
from anabranch.flow.sessions import count_pages
from anabranch.flow.transform import watermarked


def transform(visits: DataFrame, pipeline: Pipeline) -> DataFrame:
    return count_pages(watermarked(visits, pipeline))
