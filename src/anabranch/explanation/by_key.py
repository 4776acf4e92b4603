"""The records of one key, by Spark: they are decoded, and those are taken whose fields have the key's values.

The fields of a key are what the pipeline's function makes of a record, so this is proven before it is told: by these records
alone the function must give the key the same result as by all records of the window.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import reduce
from itertools import groupby, islice

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from anabranch.audit.inspect import read_target
from anabranch.audit.judge import same
from anabranch.audit.results import to_be_read, with_window_key
from anabranch.delta.stored import StoredRecord
from anabranch.explanation import messages
from anabranch.explanation.inspect import Look, explain_window
from anabranch.explanation.key import fields_of_records, malformed, parse_key
from anabranch.explanation.report import Emitted, Explanation, KeyResult
from anabranch.explanation.tally import Group, usable_group
from anabranch.pipeline.definition import Pipeline
from anabranch.pipeline.schema import quoted
from anabranch.pipeline.sinks import Results
from anabranch.pipeline.windows import windows_of
from anabranch.project.kafka import admin_of, cluster_of
from anabranch.project.project import Project
from anabranch.reprocess.apply import lake_read
from anabranch.reprocess.plan import Range
from anabranch.reprocess.recompute import (
    TopicRead,
    WindowCutoff,
    decoded_records,
    header,
    recomputed,
    topic_records,
    usable_within,
)
from anabranch.spark.rows import rows_one_by_one
from anabranch.streaming.result_headers import BATCH, OPERATION, ORIGIN
from anabranch.streaming.results import as_records
from anabranch.streaming.sql import literal
from anabranch.text.format import iso_utc

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Records that come to the driver at once.
_AT_ONCE = 50_000
# Of more results of the key the newest are shown.
_MOST_RESULTS = 20
# Sums of floats depend on the order of their records.
_LEAST_TOLERANCE = 1e-9


@dataclass(frozen=True)
class KeyRecords:
    """Usable ones: a record with a problem has no key."""

    usable: DataFrame

    def offsets(self) -> Iterator[Group]:
        rows = rows_one_by_one(self.usable.select("_partition", "_offset"))
        while block := list(islice(rows, _AT_ONCE)):
            for partition, of_it in groupby(sorted(block), key=lambda row: row[0]):
                yield usable_group(partition, [row[1] for row in of_it])

    def usable_from(self, cutoffs: Mapping[int, int], most: int) -> Iterator[StoredRecord]:
        rows = self.usable.where(_from(cutoffs)).orderBy("_partition", "_offset").limit(most)
        columns = ("_partition", "_offset", "_event_us", "_record_us")
        for partition, offset, event_us, record_us in rows.select(*columns).collect():
            yield StoredRecord(partition, offset, event_us, _EPOCH + timedelta(microseconds=record_us))


def explain_key(spark: SparkSession, project: Project, look: Look, text: str) -> Explanation:
    """Refuses where the records of the key cannot be told."""
    pipeline, wanted = look.pipeline, _range(look)
    key, condition = _key(spark, look, text)
    lake = lake_read(project, pipeline, look.pinned.lake_version)
    decoded = to_be_read(decoded_records(spark, pipeline, [wanted], lake), look.pinned.begins)
    usable = usable_within(decoded, pipeline, [wanted])
    of_key = usable.where(condition)
    values = _values(look, usable, of_key, key)
    result = KeyResult(values["should_be"], values["counted"], tuple(_emitted(spark, project, pipeline, key)))
    time = quoted(pipeline.topic.event_time)
    shown = of_key.selectExpr(
        "_partition", "_offset", f"unix_micros({time}) AS _event_us", "unix_micros(_record_time) AS _record_us"
    )
    return explain_window(project, look, KeyRecords(shown), key, result)


def _range(look: Look) -> Range:
    return Range(look.start_ms, look.start_ms + windows_of(look.pipeline).slide_ms)


def _key(spark: SparkSession, look: Look, text: str) -> tuple[str, str]:
    """As the stream writes it, and the condition on the fields of a record."""
    pipeline, given = look.pipeline, parse_key(look.pipeline, look.start_ms, text)
    fields = fields_of_records(pipeline, look.start_ms)
    ddl = ", ".join(f"{quoted(field.name)} {field.type.describe()}" for field in fields)
    typed = {field.name: f"from_json({literal(text)}, {literal(ddl)}).{quoted(field.name)}" for field in fields}
    window = f"struct(timestamp_millis({look.start_ms}) AS start, timestamp_millis({look.end_ms}) AS end) AS window"
    row = spark.range(1).selectExpr(window, *(f"{value} AS {quoted(name)}" for name, value in typed.items()))
    (found,) = row.select(*(F.col(quoted(field.name)).isNull() for field in fields)).collect() if fields else [()]
    for field, is_null in zip(fields, found, strict=True):
        if is_null and given[field.name] is not None:
            raise malformed(pipeline, messages.KEY_WRONG_VALUE(field=field.name, type=field.type.describe()))
    (record,) = as_records(row, with_window_key(pipeline).grouping).select("key").collect()
    return record[0], " AND ".join(f"{quoted(name)} <=> {value}" for name, value in typed.items()) or "TRUE"


def _values(look: Look, usable: DataFrame, of_key: DataFrame, key: str) -> dict[str, str | None]:
    """By all records of the window, by those of the key, and by those of them that were counted."""
    pipeline, wanted, timeline = with_window_key(look.pipeline), [_range(look)], look.pinned.ran.timeline
    frames = {"should_be": recomputed(usable, pipeline, wanted), "found": recomputed(of_key, pipeline, wanted)}
    cutoffs = timeline.cutoffs(look.end_ms) or timeline.read
    if timeline.is_known(look.end_ms):
        rows = [WindowCutoff(look.end_ms, partition, cutoffs[partition]) for partition in timeline.ends]
        frames["counted"] = recomputed(of_key, pipeline, wanted, rows)
    tagged = [frame.where(F.col("key") == key).selectExpr(f"'{name}' AS name", "value") for name, frame in frames.items()]
    values: dict[str, str | None] = dict.fromkeys(("should_be", "found", "counted"))
    values |= dict(reduce(DataFrame.unionAll, tagged).collect())
    if not same(values["found"], values["should_be"], max(pipeline.float_tolerance, _LEAST_TOLERANCE)):
        raise messages.KEY_NOT_BY_FIELDS(
            pipeline=pipeline.name,
            key=key,
            topic=pipeline.topic.name,
            found=values["found"] or "none",
            should_be=values["should_be"] or "none",
            window=iso_utc(look.start_ms),
        )
    return values


def _emitted(spark: SparkSession, project: Project, pipeline: Pipeline, key: str) -> list[Emitted]:
    """The newest results of the key, the oldest of them first. Of a table: none."""
    if not isinstance(pipeline.sink, Results):
        return []
    offsets = read_target(pipeline, admin_of(project)).offsets
    records = topic_records(spark, TopicRead(pipeline.sink.name, pipeline.name, offsets, cluster_of(project).for_java))
    of_key = records.where(F.col("key").cast("string") == key)
    columns = (
        "partition",
        "offset",
        "unix_millis(timestamp)",
        "cast(value AS STRING)",
        *map(header, (ORIGIN, BATCH, OPERATION)),
    )
    rows = of_key.orderBy(F.col("timestamp").desc(), F.col("offset").desc()).limit(_MOST_RESULTS).selectExpr(*columns).collect()
    return [
        Emitted(f"{pipeline.sink.name}:{partition}:{offset}", iso_utc(at_ms), value or "", origin, batch, operation)
        for partition, offset, at_ms, value, origin, batch, operation in rows[::-1]
    ]


def _from(cutoffs: Mapping[int, int]) -> str:
    pairs = ", ".join(f"{partition}, {offset}L" for partition, offset in cutoffs.items())
    return f"_offset >= coalesce(try_element_at(map({pairs}), _partition), 0L)" if cutoffs else "TRUE"
