"""Kafka records as a frame, and what was decoded of them."""

from __future__ import annotations

from datetime import UTC, datetime

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

RECORDS = (
    "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, timestampType INT, "
    "headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
)
COLUMNS = [
    *("event_time", "visit_id", "user_id", "event_id", "page", "browser"),
    *("_problem", "_topic", "_partition", "_offset", "_record_time", "_key", "_value", "_headers"),
]
RECORD_TIME_S = 1_756_969_200  # 2025-09-04T07:00:00Z


def records(spark: SparkSession, values: list[bytes | None]) -> DataFrame:
    time = datetime.fromtimestamp(RECORD_TIME_S, UTC)
    rows = [(b"k", value, "visits", 1, offset, time, 0, [Row(key="h", value=b"v")]) for offset, value in enumerate(values)]
    return spark.createDataFrame(rows, RECORDS)


def in_utc(decoded: DataFrame) -> list[Row]:
    """Collected in the order of the offsets, times as UTC text: neither the session nor this process adds its zone."""
    times = {name: F.unix_micros(name) for name in ("event_time", "_record_time")}
    return decoded.withColumns(times).orderBy("_offset").collect()


def utc_text(micros: int | None) -> str | None:
    if micros is None:
        return None
    seconds, rest = divmod(micros, 1_000_000)
    text = f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}"
    return f"{text}.{rest:06}".rstrip("0") if rest else text
