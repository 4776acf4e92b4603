"""A result as a Kafka record: the value is the JSON that the seeds show, the key says whose result it is.

For one key the latest result wins, so a key must not depend on anything but the grouping: times in UTC whatever the
session's zone, nulls written out. A window is named by its start.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F


def as_records(results: DataFrame, grouping: tuple[str, ...], headers: Mapping[str, str] | None = None) -> DataFrame:
    key = F.to_json(F.struct(*map(_key_part, grouping)), {"timeZone": "UTC", "ignoreNullFields": "false"})
    columns = [key.alias("key"), F.to_json(F.struct(*results.columns)).alias("value")]
    if headers:
        columns.append(F.array(*(_header(name, value) for name, value in headers.items())).alias("headers"))
    return results.select(*columns)


def _key_part(name: str) -> Column:
    return F.col("window.start").alias("window_start") if name == "window" else F.col(name)


def _header(name: str, value: str) -> Column:
    return F.struct(F.lit(name).alias("key"), F.lit(value).cast("binary").alias("value"))
