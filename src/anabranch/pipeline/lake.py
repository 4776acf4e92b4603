"""The lake of a topic: every record as it came, with its coordinates and what the decoder made of its time.

A topic that declares a lake brings the pipeline that fills it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from anabranch.pipeline.definition import Code, Pipeline
from anabranch.pipeline.schema import quoted
from anabranch.pipeline.sinks import Table
from anabranch.pipeline.topic import Topic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Plain columns, written by us: with generated ones deltalake could not restore rows.
PARTITIONS = ("year", "month", "day", "hour")
# Behind the event time.
_METADATA = ("problem", "topic", "partition", "offset", "record_time", "key", "value", "headers")


def lake_pipeline(topic: Topic) -> Pipeline:
    assert topic.lake is not None
    return Pipeline(
        name=f"{topic.name}-lake",
        summary="Copies every raw record to the lake, by year, month, day and hour of event time",
        topics=(topic,),
        sink=Table(topic.lake, PARTITIONS),
        result_topic=f"{topic.name}_lake",
        takes_problems=True,
        place=topic.place,
        code=Code(_rows(topic.event_time)),
    )


def _rows(event_time: str) -> Callable[[DataFrame], DataFrame]:
    def rows(records: DataFrame) -> DataFrame:
        # Event time first: Delta keeps statistics of the first columns, and skips by them the files that a range does not need.
        plain = records.selectExpr(f"{quoted(event_time)} AS event_time", *(f"_{name} AS {name}" for name in _METADATA))
        return plain.selectExpr("*", *_UTC_PARTS)

    return rows


# Whatever the session's zone: from the epoch, so that no zone's gap is in between. In seconds: division makes a double of it,
# and that holds no microseconds of far years.
_DAY = "date_from_unix_date(cast(floor(unix_seconds(event_time) / 86400) AS INT))"
_HOUR = "cast(pmod(floor(unix_seconds(event_time) / 3600), 24) AS INT)"
_UTC_PARTS = (f"year({_DAY}) AS year", f"month({_DAY}) AS month", f"day({_DAY}) AS day", f"{_HOUR} AS hour")
