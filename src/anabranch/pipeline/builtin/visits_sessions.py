"""Seed 003: pages so far for each visit, then once more when it is finished."""

from __future__ import annotations

from pyspark.sql import DataFrame

from anabranch.pipeline.builtin.session_processor import count_pages
from anabranch.pipeline.definition import Pipeline
from anabranch.streaming.transforms import watermarked


def transform(visits: DataFrame, pipeline: Pipeline) -> DataFrame:
    return count_pages(watermarked(visits, pipeline))
