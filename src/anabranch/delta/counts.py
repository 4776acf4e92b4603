"""How many records of a topic the lake holds, by time and partition; and some of them. Without a JVM.

By what was stored of each record when it came: its coordinates, and what the decoder made of its time. An engine of its own, so
what Spark counts can be held against it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from deltalake import QueryBuilder

from anabranch.delta.hours import PARTITIONS
from anabranch.delta.lake import open_lake
from anabranch.delta.stored import CHECK_MODULUS, BinCount, Cutoff, Newest, StoredRecord
from anabranch.delta.table import moment, readable, text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# [first, end) of event times.
Times = tuple[datetime, datetime]
_NO_BIN = "arrow_cast(NULL, 'Int64')"
_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)


def count_by_bin(
    path: str, topic: str, version: int, times: Iterable[Times], bin_us: int, begins: Mapping[int, int]
) -> list[BinCount]:
    """Of the records within these times, and of those without a time.

    `times`: whole bins. `begins`: partition -> the first offset that counts, if not 0.
    """
    ranges = list(times)
    # Files are found by their hours, and bins chosen when they are counted: a condition on the times of the rows would take
    # twice as long as the rest.
    sql = f"""
        SELECT CASE WHEN "event_time" IS NULL THEN {_NO_BIN} ELSE {_bin(bin_us)} END AS "bin", "partition",
               count(*) FILTER (WHERE "problem" IS NULL) AS "usable",
               count(*) FILTER (WHERE "problem" IS NOT NULL) AS "problems",
               max("offset") FILTER (WHERE "problem" IS NULL) AS "last",
               sum({_EVENT_US} % {CHECK_MODULUS}) FILTER (WHERE "problem" IS NULL) AS "check"
        FROM held
        WHERE "topic" = {text(topic)} AND ("year" IS NULL OR {_in_hours(ranges)}) AND {_from(begins)}
        GROUP BY 1, 2 ORDER BY 1, 2
        """
    bounds = [((start - _EPOCH) // _MICROSECOND, (end - _EPOCH) // _MICROSECOND) for start, end in ranges]
    found = (BinCount(**row) for row in _rows(path, version, sql))
    return [one for one in found if one.bin is None or any(_overlaps(one.bin * bin_us, bin_us, *bound) for bound in bounds)]


def records_from(path: str, topic: str, version: int, bin_us: int, cutoffs: Sequence[Cutoff]) -> Iterator[StoredRecord]:
    """The usable records from these offsets on, by partition and offset."""
    if not cutoffs:
        return
    wanted = ", ".join(f"({one.bin}, {one.partition}, {one.offset})" for one in cutoffs)
    times = (min(one.bin for one in cutoffs) * bin_us, (max(one.bin for one in cutoffs) + 1) * bin_us)
    sql = f"""
        SELECT {_COLUMNS} FROM (SELECT *, {_bin(bin_us)} AS "bin" FROM held
            WHERE "topic" = {text(topic)} AND "problem" IS NULL
              AND "event_time" >= {_moment_us(times[0])} AND "event_time" < {_moment_us(times[1])})
        JOIN (VALUES {wanted}) AS cutoffs("cut_bin", "cut_partition", "cut_offset")
          ON "bin" = "cut_bin" AND "partition" = "cut_partition"
        WHERE "offset" >= "cut_offset" ORDER BY "partition", "offset"
        """
    yield from (StoredRecord(**row) for row in _rows(path, version, sql))


def records_of(
    path: str, topic: str, version: int, times: Times, begins: Mapping[int, int], most: int
) -> Iterator[StoredRecord]:
    """The first usable records within these times, by partition and offset. `begins`: as above."""
    sql = f"""
        SELECT {_COLUMNS} FROM held
        WHERE "topic" = {text(topic)} AND "problem" IS NULL AND {_within([times])} AND {_from(begins)}
        ORDER BY "partition", "offset" LIMIT {int(most)}
        """
    yield from (StoredRecord(**row) for row in _rows(path, version, sql))


def first_offsets(path: str, topic: str, version: int, times: Times, begins: Mapping[int, int]) -> dict[int, int]:
    """Partition -> the first offset with a time within these, also of a record with a problem."""
    sql = f"""
        SELECT "partition", min("offset") AS "first" FROM held
        WHERE "topic" = {text(topic)} AND {_within([times])} AND {_from(begins)} GROUP BY "partition"
        """
    return {row["partition"]: row["first"] for row in _rows(path, version, sql)}


def offsets_of(
    path: str, topic: str, version: int, times: Times, begins: Mapping[int, int]
) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.bool_]]]:
    """The records within these times, group by group: a partition, offsets, and which of them are usable. In no order."""
    sql = f"""
        SELECT "partition", "offset", "problem" IS NULL AS "is_usable" FROM held
        WHERE "topic" = {text(topic)} AND {_within([times])} AND {_from(begins)}
        """
    for partition, (offsets, is_usable) in _by_partition(path, version, sql):
        yield partition, offsets.astype("int64"), is_usable.astype("bool")


def newest_of_partitions(path: str, topic: str, version: int) -> list[Newest]:
    sql = f"""
        SELECT "partition", max("offset") AS "offset", max("record_time") AS "record_time",
               max({_EVENT_US}) FILTER (WHERE "problem" IS NULL) AS "event_us"
        FROM held WHERE "topic" = {text(topic)} GROUP BY "partition" ORDER BY "partition"
        """
    return [Newest(**row) for row in _rows(path, version, sql)]


def event_times(
    path: str, topic: str, version: int, times: tuple[datetime | None, datetime | None]
) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.int64]]]:
    """The usable records within these times, group by group: a partition, and of each record its offset and its event time in
    microseconds. In no order. `times`: None has no bound."""
    bounds = (f'"event_time" {operator} {moment(one)}' for operator, one in zip((">=", "<"), times, strict=True) if one)
    sql = f"""
        SELECT "partition", "offset", {_EVENT_US} AS "event_us" FROM held
        WHERE {" AND ".join([f'"topic" = {text(topic)}', '"problem" IS NULL AND "event_time" IS NOT NULL', *bounds])}
        """
    for partition, (offsets, event_us) in _by_partition(path, version, sql):
        yield partition, offsets.astype("int64"), event_us.astype("int64")


# Delta's times are microseconds.
_EVENT_US = "arrow_cast(\"event_time\", 'Int64')"
_COLUMNS = f'"partition", "offset", {_EVENT_US} AS "event_us", "record_time"'


def _bin(bin_us: int) -> str:
    """Times before the epoch too: division rounds towards 0, so it is done with numbers that are not below 0."""
    bins = (_EPOCH - datetime.min.replace(tzinfo=UTC)) // _MICROSECOND // bin_us + 1
    return f"(({_EVENT_US} + {bins * bin_us}) / {bin_us} - {bins})"


def _overlaps(begin_us: int, length_us: int, start_us: int, end_us: int) -> bool:
    return begin_us < end_us and start_us < begin_us + length_us


def _in_hours(times: Iterable[Times]) -> str:
    parts = (f"({_hours(start, '>')} AND {_hours(end - _MICROSECOND, '<')})" for start, end in times)
    return f"({' OR '.join(parts) or 'FALSE'})"


def _hours(bound: datetime, beyond: str) -> str:
    """The hour of this time and those beyond it, column by column: files are not found by a sum of them."""
    values = dict(zip(PARTITIONS, bound.astimezone(UTC).timetuple(), strict=False))
    *above, (name, value) = values.items()
    condition = f'"{name}" {beyond}= {value}'
    for name, value in reversed(above):
        condition = f'("{name}" {beyond} {value} OR ("{name}" = {value} AND {condition}))'
    return condition


def _within(times: Iterable[Times]) -> str:
    parts = (f'("event_time" >= {moment(start)} AND "event_time" < {moment(end)})' for start, end in times)
    return f"({' OR '.join(parts) or 'FALSE'})"


def _moment_us(us: int) -> str:
    return f"arrow_cast({us}, 'Timestamp(Microsecond, Some(\"UTC\"))')"


def _from(begins: Mapping[int, int]) -> str:
    """As alternatives: so files are skipped by the offsets in them."""
    if not begins:
        return "TRUE"
    parts = (f'("partition" = {int(partition)} AND "offset" >= {int(first)})' for partition, first in begins.items())
    others = ", ".join(str(int(partition)) for partition in begins)
    return f"""({" OR ".join(parts)} OR "partition" NOT IN ({others}))"""


def _rows(path: str, version: int, sql: str) -> Iterator[dict[str, Any]]:
    for group in _groups(path, version, sql):
        yield from group.to_pylist()


def _by_partition(path: str, version: int, sql: str) -> Iterator[tuple[int, list[NDArray[Any]]]]:
    """The other columns of a query whose first one is the partition, as arrays."""
    for group in _groups(path, version, sql):
        partitions, *columns = (group.column(name).to_numpy(zero_copy_only=False) for name in group.schema.names)
        for partition in sorted(set(partitions.tolist())):
            yield partition, [column[partitions == partition] for column in columns]


def _groups(path: str, version: int, sql: str) -> Iterator[pa.RecordBatch]:
    """As the engine makes them: the driver never holds all."""
    table = open_lake(Path(path), version)
    with readable(path):
        for group in QueryBuilder().register("held", table).execute(sql):
            yield pa.record_batch(group)
