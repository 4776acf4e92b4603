"""Windows again, from the lake: the same decoder and the same transformation as the stream's, on a batch read.

Beside them what the topic holds for the same keys. Spark does it from end to end: a row of these frames is one result, and
nothing is collected here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from anabranch.delta.hours import HOUR_SQL
from anabranch.pipeline.definition import Pipeline
from anabranch.pipeline.schema import quoted
from anabranch.pipeline.windows import windows_of
from anabranch.reprocess.plan import Compared, Range, hours_of, times_of
from anabranch.spark.rows import rows_one_by_one
from anabranch.streaming.decoder.decode import decode, typed
from anabranch.streaming.result_headers import OPERATION, ORIGIN, PIPELINE
from anabranch.streaming.results import as_records
from anabranch.streaming.sql import literal
from anabranch.streaming.transforms import transformed, without_problems


@dataclass(frozen=True)
class LakeRead:
    path: str
    version: int
    # In which times without a zone are.
    zone: str
    # Its columns say of each record what decoding it would (rules.py).
    is_as_decoded: bool = False


@dataclass(frozen=True)
class TopicRead:
    """The results on a topic between two offsets of each partition."""

    topic: str
    # Whose results they are: others may write to the topic too.
    pipeline: str
    offsets: Mapping[int, tuple[int, int]]
    # Properties of Java's client. Not in a repr: they may hold passwords.
    kafka: Mapping[str, str] = field(repr=False)


def recomputed(
    records: DataFrame, pipeline: Pipeline, wanted: Sequence[Range], cutoffs: Sequence[WindowCutoff] | None = None
) -> DataFrame:
    """Key and value of each result of windows that begin in these ranges, from the records in them and in no others.

    `cutoffs`: only of these windows, and without the records from these offsets on.
    """
    results = transformed([records], pipeline) if cutoffs is None else transformed([records], pipeline, _below(cutoffs))
    windows = windows_of(pipeline)
    if windows.slide_ms != windows.length_ms:
        # Their records are also in windows that lack others. Spark would reckon each record's window once more for this.
        results = results.where(_within("window.start", wanted))
    return as_records(results, pipeline.grouping)


def usable_records(spark: SparkSession, pipeline: Pipeline, wanted: Sequence[Range], lake: LakeRead) -> DataFrame:
    """All that belong to windows of these ranges, by today's rules, at one version of the lake."""
    return usable_within(records_for(spark, pipeline, wanted, lake), pipeline, wanted)


def records_for(spark: SparkSession, pipeline: Pipeline, wanted: Sequence[Range], lake: LakeRead) -> DataFrame:
    """As `decoded_records`; not decoded where the lake's columns say as much, and the pipeline asks for no other."""
    if lake.is_as_decoded:
        topic, times = pipeline.topic, [times_of(one, windows_of(pipeline)) for one in wanted]
        stored = lake_rows(spark, topic.name, times, lake).selectExpr(*_STORED, "event_time", "problem")
        records = typed(stored, topic, zone=lake.zone, future_tolerance_s=pipeline.future_tolerance_s)
        if not _reads(recomputed(usable_within(records, pipeline, wanted), pipeline, wanted), "value"):
            return records
    return decoded_records(spark, pipeline, wanted, lake)


def _reads(results: DataFrame, column: str) -> bool:
    """Whether a plan reads this column of any table."""
    leaves = results._jdf.queryExecution().sparkPlan().collectLeaves()
    return any(column in list(leaves.apply(number).requiredSchema().fieldNames()) for number in range(leaves.size()))


def decoded_records(
    spark: SparkSession, pipeline: Pipeline, wanted: Sequence[Range], lake: LakeRead, only: str = "TRUE"
) -> DataFrame:
    """Those that were stored with a time of these windows, and those that had none: judged by today's rules.

    `only`: a condition on the columns of the lake.
    """
    topic, times = pipeline.topic, [times_of(one, windows_of(pipeline)) for one in wanted]
    stored = lake_rows(spark, topic.name, times, lake).where(only).selectExpr(*_STORED)
    return decode(stored, topic, zone=lake.zone, future_tolerance_s=pipeline.future_tolerance_s, skip=pipeline.skip)


def usable_within(decoded: DataFrame, pipeline: Pipeline, wanted: Sequence[Range]) -> DataFrame:
    times = [times_of(one, windows_of(pipeline)) for one in wanted]
    return without_problems(decoded).where(_within(quoted(pipeline.topic.event_time), times))


@dataclass(frozen=True)
class WindowCutoff:
    """The records of a window and a partition from one offset on."""

    end_ms: int
    partition: int
    offset: int


def _below(cutoffs: Sequence[WindowCutoff]) -> Callable[[DataFrame], DataFrame]:
    """The records before the cutoff of their window and partition. Windows without cutoffs are left out."""
    rows = [(one.end_ms, one.partition, one.offset) for one in cutoffs]

    def keep(records: DataFrame) -> DataFrame:
        table = records.sparkSession.createDataFrame(rows, "_cut_end LONG, _cut_partition INT, _cut_offset LONG")
        joined = records.join(F.broadcast(table), F.expr("unix_millis(window.end) = _cut_end AND _partition = _cut_partition"))
        return joined.where("_offset < _cut_offset").drop("_cut_end", "_cut_partition", "_cut_offset")

    return keep


def lake_rows(spark: SparkSession, topic: str, times: Sequence[Range], lake: LakeRead) -> DataFrame:
    """Only the partitions of these hours, and the one of records that had no usable time under the rules of their day."""
    table = spark.read.format("delta").option("versionAsOf", lake.version).load(lake.path)
    hours = " OR ".join(f"{HOUR_SQL} BETWEEN {first} AND {last}" for first, last in map(hours_of, times))
    # Each a condition of its own: Delta finds files by conditions on the columns of its partitions alone.
    return table.where(f"{hours} OR year IS NULL").where(f"topic = {literal(topic)}").where(_stored_within(times))


def topic_records(spark: SparkSession, read: TopicRead) -> DataFrame:
    """As Spark's Kafka source has them, with their headers."""
    begins, ends = (
        json.dumps({read.topic: {str(partition): held[side] for partition, held in read.offsets.items()}}) for side in (0, 1)
    )
    options = {f"kafka.{name}": value for name, value in read.kafka.items()}
    options |= {"assign": json.dumps({read.topic: list(read.offsets)}), "startingOffsets": begins, "endingOffsets": ends}
    options |= {
        "includeHeaders": "true",
        "kafka.isolation.level": "read_committed",
        "kafka.max.poll.records": "5000",
        # Kafka's default of 500 ms is waited out at the end of each partition.
        "kafka.fetch.max.wait.ms": "20",
    }
    return spark.read.format("kafka").options(**options).load()


def emitted_results(spark: SparkSession, read: TopicRead, wanted: Sequence[Range]) -> DataFrame:
    """The latest result of each key of these windows in each partition: one, unless partitions were added to the topic.

    A key without a value has none.
    """
    own = literal(read.pipeline)
    held = f"timestamp, cast(value AS STRING) AS value, {header(ORIGIN)} AS origin, {header(OPERATION)} AS operation"
    of_results = topic_records(spark, read).selectExpr(
        *("cast(key AS STRING) AS key", "partition", "offset", f"struct({held}) AS held"),
        f"coalesce({header(PIPELINE)}, {own}) = {own} AS is_own",
    )
    latest = of_results.where(_within_ms(_START_MS, wanted)).groupBy("key", "partition")
    return latest.agg(F.expr("max_by(held, offset) AS held"), F.expr("bool_or(is_own) AS is_own"))


def held_once(results: DataFrame) -> DataFrame:
    """The same of results that are no records of a topic."""
    held = f"named_struct('timestamp', timestamp_millis(0), 'value', value, 'origin', {_NO_TEXT}, 'operation', {_NO_TEXT})"
    return results.selectExpr("key", f"{held} AS held", "TRUE AS is_own")


def compared(emitted: DataFrame, should_be: DataFrame, **others: DataFrame | None) -> DataFrame:
    """One row for each key, as `Compared` names its columns. One shuffle for all of them. `others`: counted, known.

    And in how many `partitions` of the topic it has results: the newest time decides, since their offsets do not compare.
    What other pipelines alone have sent is left out.
    """
    frames = {"should_be": should_be, **{name: one for name, one in others.items() if one is not None}}
    nothing = [f"cast(NULL AS {kind}) AS {name}" for name, kind in _HELD.items()]
    united = emitted.selectExpr("key", *_HELD, *(f"{_NO_TEXT} AS {name}" for name in _COMPUTED))
    for own, frame in frames.items():
        values = [f"{'value' if name == own else _NO_TEXT} AS {name}" for name in _COMPUTED]
        united = united.unionAll(frame.selectExpr("key", *nothing, *values))
    by_key = united.groupBy("key").agg(
        F.expr("max(held) AS held"),
        F.expr("count(held) AS partitions"),
        F.expr("bool_or(is_own) AS is_own"),
        *(F.expr(f"max({name}) AS {name}") for name in _COMPUTED),
    )
    rows = by_key.selectExpr(
        *("key", f"{_START_MS} AS start_ms", "nullif(held.value, '') AS emitted", *_COMPUTED),
        *("held.origin", "held.operation", "cast(partitions AS INT) AS partitions", "is_own"),
    )
    is_result = f"(emitted IS NOT NULL AND is_own) OR {' OR '.join(f'{name} IS NOT NULL' for name in _COMPUTED)}"
    return rows.where(is_result).drop("is_own")


def rows_of(results: DataFrame) -> Iterator[Compared]:
    yield from (Compared(**row.asDict()) for row in rows_one_by_one(results.drop("partitions")))


_COMPUTED = ("should_be", "counted", "known")
# What a key has in one partition of the topic. Structs compare field by field: by their times first.
_HELD = {"held": "STRUCT<timestamp: TIMESTAMP, value: STRING, origin: STRING, operation: STRING>", "is_own": "BOOLEAN"}
_STORED = ("value", "topic", "partition", "offset", "record_time AS timestamp")
_NO_TEXT = "cast(NULL AS STRING)"
# Of a result's key (streaming/results.py). Null: it is not one of ours.
_START_MS = "unix_millis(try_cast(get_json_object(key, '$.window_start') AS TIMESTAMP))"


def header(name: str) -> str:
    """Of a record of a topic. Null: it has none."""
    return f"cast(get(filter(headers, one -> one.key = {literal(name)}), 0).value AS STRING)"


def _stored_within(times: Sequence[Range]) -> str:
    """By the time under the rules of the day: what has another one today is told by the numbers (audit/apply.py)."""
    return f"event_time IS NULL OR {_within('event_time', times)}"


def _within(time: str, wanted: Iterable[Range]) -> str:
    moments = (f"{time} >= timestamp_millis({one.start_ms}) AND {time} < timestamp_millis({one.end_ms})" for one in wanted)
    return f"({' OR '.join(moments)})"


def _within_ms(time_ms: str, wanted: Iterable[Range]) -> str:
    return f"({' OR '.join(f'{time_ms} >= {one.start_ms} AND {time_ms} < {one.end_ms}' for one in wanted)})"
