"""Spark's rows as values that a test can compare, in an order that does not change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row

    from anabranch.pipeline.definition import Pipeline


def as_dicts(rows: Sequence[Row], grouping: Sequence[str]) -> list[dict[str, Any]]:
    """Sorted by key, then by all columns: the tasks of a batch end in any order."""
    plain = [_plain(row) for row in rows]
    return sorted(plain, key=lambda row: (repr([row.get(name) for name in grouping]), repr(row)))


def _plain(value: Any) -> Any:
    from pyspark.sql import Row

    match value:
        case Row():
            return {name: _plain(value[name]) for name in value.__fields__}
        case list():
            return [_plain(one) for one in value]
        case dict():
            return {_plain(key): _plain(one) for key, one in value.items()}
        case bytearray():
            return bytes(value)
        case datetime() if value.tzinfo is None:
            # PySpark gives local times of this process, with their fold.
            return value.astimezone(UTC)
    return value


def problems(records: DataFrame, pipeline: Pipeline, number: int, zone: str) -> Iterator[tuple[str, bytes | None, str, int]]:
    """By the decoder itself, on a batch read."""
    from anabranch.streaming.decoder.decode import decode

    topic = pipeline.topics[number]
    decoded = decode(records, topic, zone=zone, future_tolerance_s=pipeline.future_tolerance_s, skip=pipeline.skip)
    found = decoded.where("_problem IS NOT NULL").select("_problem", "_value", "_topic", "_offset").orderBy("_offset")
    for problem, value, name, offset in found.collect():
        yield problem, None if value is None else bytes(value), name, offset
