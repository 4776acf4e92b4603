"""The lake (seed 002): every record as it came, with its coordinates and what the decoder made of its time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.pipeline.definition import Pipeline, Table

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# Event time first: Delta keeps statistics of the first columns, and skips by them the files that a range does not need.
_COLUMNS = ("event_time", "problem", "topic", "partition", "offset", "record_time", "key", "value", "headers")


def transform(records: DataFrame) -> DataFrame:
    return records.select(*_COLUMNS, *_utc_parts("event_time"))


def _utc_parts(event_time: str) -> list[Column]:
    """Year, month, day and hour in UTC, whatever the session's zone: from the epoch, so that no zone's gap is in between."""
    from pyspark.sql import functions as F

    # In seconds: division makes a double of it, and that holds no microseconds of far years.
    seconds = F.unix_seconds(event_time)
    day = F.date_from_unix_date(F.floor(seconds / 86_400).cast("int"))
    hour = F.pmod(F.floor(seconds / 3_600), F.lit(24)).cast("int")
    return [F.year(day).alias("year"), F.month(day).alias("month"), F.day(day).alias("day"), hour.alias("hour")]


VISITS_LAKE = Pipeline(
    name="visits-lake",
    summary="copies every raw record to the lake, by year, month, day and hour of event time",
    source_topic="visits",
    sink=Table(".anabranch/lake/visits"),
    result_topic="visits_lake",
    transform=transform,
    takes_problems=True,
    # Plain columns, written by us: with generated ones deltalake could not restore rows.
    partition_by=("year", "month", "day", "hour"),
)
