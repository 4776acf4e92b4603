"""Seed 002: every record as it came, with its coordinates and what the decoder made of its time."""

from __future__ import annotations

from pyspark.sql import DataFrame

from anabranch.pipeline.definition import Pipeline
from anabranch.streaming.transforms import utc_parts

# Plain columns, written by us: with generated ones deltalake could not put rows back.
partition_by = ("year", "month", "day", "hour")
# Event time first: Delta keeps statistics of the first columns, and skips by them the files that a range does not need.
_COLUMNS = ("event_time", "problem", "topic", "partition", "offset", "record_time", "key", "value", "headers")


def transform(records: DataFrame, _pipeline: Pipeline) -> DataFrame:
    return records.select(*_COLUMNS, *utc_parts("event_time"))
