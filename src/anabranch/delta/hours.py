"""An hour of the lake as a number, by which its partitions are compared: 2025090407 is 07:00 on 4 September 2025, in UTC."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

PARTITIONS = ("year", "month", "day", "hour")
# The same of a row. As a long: an int ends in the year 2147.
HOUR_SQL = "cast(year AS LONG) * 1000000 + month * 10000 + day * 100 + hour"


def hour_of(moment_ms: int) -> int:
    return int(f"{datetime.fromtimestamp(moment_ms / 1000, UTC):%Y%m%d%H}")


def hour_of_partition(values: Mapping[str, Any]) -> int | None:
    """None: the partition of records without a usable time."""
    parts = [values[name] for name in PARTITIONS]
    if any(part is None for part in parts):
        return None
    year, month, day, hour = map(int, parts)
    return year * 1_000_000 + month * 10_000 + day * 100 + hour


def start_of_hour_ms(hour: int) -> int:
    return round(datetime.strptime(f"{hour:010}", "%Y%m%d%H").replace(tzinfo=UTC).timestamp() * 1000)
