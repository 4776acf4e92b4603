"""The results of closed windows by Spark: what was emitted beside what the lake gives, and only what differs comes back.

The stream's own transformation runs on all usable records (`should_be`). Where records were late it runs on the others too
(`counted`), and where they came after a correction on those that the correction knew (`known`): only in these windows, since
elsewhere the three are one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from anabranch.audit import messages
from anabranch.audit.concentration import Candidate
from anabranch.audit.ranges import covering
from anabranch.audit.windows import EVER, LateRecord
from anabranch.delta.stored import CHECK_MODULUS
from anabranch.pipeline.definition import Pipeline
from anabranch.pipeline.schema import Scalar, quoted
from anabranch.pipeline.windows import windows_of
from anabranch.reprocess.plan import Compared, Range, times_of
from anabranch.reprocess.recompute import (
    LakeRead,
    TopicRead,
    WindowCutoff,
    compared,
    decoded_records,
    emitted_results,
    held_once,
    recomputed,
    records_for,
    usable_within,
)
from anabranch.spark.rows import observed, rows_one_by_one
from anabranch.streaming.results import as_records
from anabranch.streaming.sql import literal
from anabranch.streaming.transforms import prepared, without_problems


@dataclass(frozen=True)
class TableRead:
    """The results in a Delta table at one version."""

    path: str
    version: int


@dataclass(frozen=True)
class Asked:
    """What is to be judged, and by what."""

    pipeline: Pipeline
    ranges: Sequence[Range]
    lake: LakeRead
    emitted: TopicRead | TableRead
    # Partition -> the first offset that the stream was to read, where that is not 0.
    begins: Mapping[int, int]
    # Of the windows that have late records.
    late: Sequence[WindowCutoff]
    # Of the windows that have records which came after an operation had sent their results.
    outdated: Sequence[WindowCutoff]
    # Values that late records have in common: how many of all records have them is counted on the way.
    candidates: Sequence[Candidate] = ()
    # All results come back, also those that are right.
    every: bool = False


@dataclass
class Decoded:
    """What Spark has counted on the way: known once all rows have been taken."""

    records: int = 0
    problems: int = 0
    # Usable, with a time outside of the windows that were asked for.
    elsewhere: int = 0
    # As of BinCount, of the usable ones.
    check: int = 0
    # Of the windows that have late records: how many records there are, and how many have the value of each candidate.
    of_late_windows: int = 0
    having: tuple[int, ...] = ()
    # Keys with results in several partitions of the topic.
    in_several: int = 0


@dataclass(frozen=True)
class Row:
    """A result; or all results of one window that are right, together."""

    start_ms: int | None
    results: int
    is_equal: bool
    is_corrected: bool
    compared: Compared | None = field(default=None)


# What Spark counts on the way, by name.
_DECODED, _SHARES = "decoded", "shares"


def judged_rows(spark: SparkSession, asked: Asked, decoded: Decoded) -> Iterator[Row]:
    """By Spark from end to end. `decoded` is filled in behind the last row."""
    records = records_for(spark, asked.pipeline, asked.ranges, asked.lake)
    records = to_be_read(records, asked.begins).observe(_DECODED, *_observed(asked))
    usable = usable_within(records, asked.pipeline, asked.ranges)
    keyed = with_window_key(asked.pipeline)
    should_be = _as_table(asked, recomputed(usable, keyed, asked.ranges))
    emitted = _emitted(spark, asked, keyed)
    counted = _without(spark, asked, keyed, asked.late, has_candidates=bool(asked.candidates))
    known = _without(spark, asked, keyed, asked.outdated)
    rows = _collapsed(compared(emitted, should_be, counted=counted, known=known), every=asked.every)
    for row in rows_one_by_one(rows):
        decoded.in_several += row.in_several
        yield _row(row.asDict())
    for name, value in observed(rows, _DECODED).items():
        setattr(decoded, name, value)
    if asked.candidates:
        found = observed(rows, _SHARES)
        decoded.of_late_windows = found["records"]
        decoded.having = tuple(found[f"having_{number}"] for number in range(len(asked.candidates)))


def to_be_read(records: DataFrame, begins: Mapping[int, int]) -> DataFrame:
    """Those that the stream was to read. `begins`: as of Asked."""
    for partition, first in begins.items():
        records = records.where(f"NOT (_partition = {partition} AND _offset < {first})")
    return records


def _without(
    spark: SparkSession, asked: Asked, keyed: Pipeline, cutoffs: Sequence[WindowCutoff], *, has_candidates: bool = False
) -> DataFrame | None:
    """The results of these windows without the records from the cutoffs on."""
    if not cutoffs:
        return None
    windows = windows_of(keyed)
    ranges = covering(sorted({one.end_ms - windows.length_ms for one in cutoffs}), windows.slide_ms)
    # What they have in common is in fields that are decoded.
    found = (
        decoded_records(spark, keyed, ranges, asked.lake) if has_candidates else records_for(spark, keyed, ranges, asked.lake)
    )
    usable = usable_within(to_be_read(found, asked.begins), keyed, ranges)
    if has_candidates:
        having = (f"count_if({_text(one.field)} = {literal(one.value)})" for one in asked.candidates)
        counts = [F.expr(f"{count} AS having_{number}") for number, count in enumerate(having)]
        usable = usable.observe(_SHARES, F.expr("count(1) AS records"), *counts)
    return _as_table(asked, recomputed(usable, keyed, ranges, cutoffs))


def fields_of(spark: SparkSession, asked: Asked, records: Sequence[LateRecord]) -> list[dict[str, str | None]]:
    """The fields of some records by which they may be put into groups, as texts."""
    fields = [field.name for field in asked.pipeline.topic.schema.fields if field.type in _GROUPING]
    if not fields or not records:
        return []
    windows = windows_of(asked.pipeline)
    starts = sorted({one.window_end_ms - windows.length_ms for one in records})
    places = ", ".join(f"({one.partition}, {one.offset}L)" for one in records)
    ranges = covering(starts, windows.slide_ms)
    decoded = decoded_records(spark, asked.pipeline, ranges, asked.lake, f"(partition, offset) IN ({places})")
    columns = [f"{_text(name)} AS {quoted(name)}" for name in fields]
    return [row.asDict() for row in decoded.where("_problem IS NULL").selectExpr(*columns).collect()]


def usable_again(spark: SparkSession, pipeline: Pipeline, lake: LakeRead, begins: Mapping[int, int]) -> dict[int, int]:
    """When a window begins -> its records that had a problem when they came, and have none by today's rules."""
    decoded = decoded_records(spark, pipeline, [EVER], lake, "problem IS NOT NULL")
    (records,) = prepared([without_problems(to_be_read(decoded, begins))], pipeline)
    return dict(records.groupBy(F.expr("unix_millis(window.start)")).count().collect())


_GROUPING = tuple(Scalar(name) for name in ("STRING", "INT", "BIGINT", "BOOLEAN", "DATE"))


def _text(field: str) -> str:
    return f"cast({quoted(field)} AS STRING)"


def with_window_key(pipeline: Pipeline) -> Pipeline:
    """Rows of a table are of a window too, whether or not their key says so."""
    has_window = "window" in pipeline.grouping
    return pipeline if has_window else pipeline.changed(grouping=("window", *pipeline.grouping))


def _emitted(spark: SparkSession, asked: Asked, keyed: Pipeline) -> DataFrame:
    if isinstance(asked.emitted, TopicRead):
        return emitted_results(spark, asked.emitted, asked.ranges)
    rows = spark.read.format("delta").option("versionAsOf", asked.emitted.version).load(asked.emitted.path)
    if "window" not in rows.columns:
        raise messages.ROWS_WITHOUT_WINDOW(pipeline=keyed.name, table=asked.emitted.path)
    within = " OR ".join(
        f"(window.start >= timestamp_millis({one.start_ms}) AND window.start < timestamp_millis({one.end_ms}))"
        for one in asked.ranges
    )
    return held_once(_as_table(asked, as_records(rows.where(within), keyed.grouping)))


def _as_table(asked: Asked, records: DataFrame) -> DataFrame:
    """Of a table all rows of a key count, in whatever order: one that is there twice is wrong."""
    if isinstance(asked.emitted, TopicRead):
        return records
    return records.groupBy("key").agg(F.expr("array_join(sort_array(collect_list(value)), '\\n') AS value"))


def _collapsed(rows: DataFrame, *, every: bool) -> DataFrame:
    """One row for each result that differs, and one for all of a window that do not."""
    marked = rows.selectExpr(
        "*", "emitted <=> should_be AS is_equal", "(emitted <=> should_be) AND operation IS NOT NULL AS is_corrected"
    )
    in_several = "CASE WHEN partitions > 1 THEN 1L ELSE 0L END AS in_several"
    if every:
        return marked.selectExpr("1L AS results", in_several, "*")
    shown = [f"CASE WHEN NOT is_equal THEN {name} END AS {name}" for name in _COMPARED if name != "start_ms"]
    groups = marked.selectExpr("start_ms", "is_equal", "is_corrected", in_several, *shown)
    by = ("start_ms", "is_equal", "is_corrected", "key")
    values = [f"any_value({name}) AS {name}" for name in _COMPARED if name not in by]
    counts = ("count(1) AS results", "sum(in_several) AS in_several")
    return groups.groupBy(*by).agg(*map(F.expr, (*counts, *values)))


_COMPARED = ("key", "start_ms", "emitted", "should_be", "counted", "known", "origin", "operation")


def _row(found: dict[str, Any]) -> Row:
    values = {name: found[name] for name in _COMPARED}
    one = None if found["key"] is None else Compared(**values)
    return Row(found["start_ms"], found["results"], found["is_equal"], found["is_corrected"], one)


def _observed(asked: Asked) -> Iterator[Column]:
    time = quoted(asked.pipeline.topic.event_time)
    times = [times_of(one, windows_of(asked.pipeline)) for one in asked.ranges]
    within = " OR ".join(
        f"({time} >= timestamp_millis({one.start_ms}) AND {time} < timestamp_millis({one.end_ms}))" for one in times
    )
    yield F.expr("count(1) AS records")
    yield F.expr("count(_problem) AS problems")
    yield F.expr(f"count_if(_problem IS NULL AND NOT ({within})) AS elsewhere")
    yield F.expr(f"coalesce(sum(CASE WHEN _problem IS NULL THEN unix_micros({time}) % {CHECK_MODULUS} END), 0L) AS check")
