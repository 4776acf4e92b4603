"""A pipeline that ran for a day, made without running it: its lake, both checkpoints with their histories, and its results.

Spark writes the lake in one batch, and the results as the lake gives them, so that an audit finds them right.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from anabranch.checkpoint.history import EMPTY, BatchRecord, append_entries, entry_after
from anabranch.kafka.admin import KafkaAdmin
from anabranch.pipeline.definition import Pipeline
from anabranch.pipeline.lake import PARTITIONS
from anabranch.pipeline.sinks import Results, Table
from anabranch.project.kafka import cluster_of
from anabranch.project.project import Project, open_project
from anabranch.reprocess.plan import Range
from anabranch.reprocess.recompute import LakeRead, recomputed, usable_records
from anabranch.streaming.decoder.decode import decode
from anabranch.streaming.preflight import run_fingerprint
from anabranch.streaming.transforms import transformed
from anabranch.text.format import iso_utc
from benchmarks.case import Place
from benchmarks.history import write_file

_BEGIN_MS = round(datetime(2025, 9, 4, tzinfo=UTC).timestamp() * 1000)
_DAY_MS = 24 * 3_600_000
DAY = Range(_BEGIN_MS, _BEGIN_MS + _DAY_MS)
# One in a quarter of an hour.
_BATCHES = 96
_TOPIC_PARTITIONS = 2
_LAKE_TASKS = 8


@dataclass(frozen=True)
class StoredDay:
    """`browsers`: how many there are; each has as many records as any other."""

    name: str
    pipeline: str
    records: int
    browsers: int

    def project(self, place: Place) -> Project:
        """Made by the first run that needs it."""
        directory = place.shared / self.name
        if not directory.exists():
            place.say(f"making a day of {self.records:,} records")
            self._make(place, directory)
        return open_project(directory)

    def of(self, project: Project) -> Pipeline:
        (pipeline,) = project.find_declared([self.pipeline])
        return pipeline

    def _make(self, place: Place, directory: Path) -> None:
        (directory / ".anabranch").mkdir(parents=True)
        settings = f'[pipeline.{self.pipeline}.topics]\nsink = "{self.name}"\n'
        kafka = f'[kafka]\nbootstrap_servers = "{place.kafka["bootstrap.servers"]}"\n'
        (directory / "anabranch.toml").write_text(kafka + settings, encoding="utf-8")
        project = open_project(directory)
        pipeline = self.of(project)
        lake = project.lake_for(pipeline)
        assert lake is not None
        query_id = _write_checkpoint(project, lake, self.records, batches=1)
        _write_checkpoint(project, pipeline, self.records, batches=_BATCHES)
        assert isinstance(lake.sink, Table)
        written = self._records(place.spark, pipeline, lake).write.format("delta").partitionBy(*PARTITIONS)
        written.options(txnAppId=query_id, txnVersion="0").save(lake.sink.path)
        _send_results(place, project, pipeline, lake.sink.path)

    def _records(self, spark: SparkSession, pipeline: Pipeline, lake: Pipeline) -> DataFrame:
        """In order of their times, in turn to each partition of the topic."""
        event_us = f"{_BEGIN_MS}000L + id * {_DAY_MS * 1000 // self.records}L"
        visit = {
            "event_id": "uuid()",
            "visit_id": "cast(id div 10 AS STRING)",
            "user_id": "cast(id % 100000 AS STRING)",
            "event_time": f"date_format(timestamp_micros({event_us}), \"yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'\")",
            "page": "concat('/page/', id % 1000)",
            "browser": f"concat('browser-', id % {self.browsers})",
        }
        value = f"to_json(struct({', '.join(f'{sql} AS {name}' for name, sql in visit.items())}))"
        records = spark.range(0, self.records, 1, _LAKE_TASKS).selectExpr(
            "cast(NULL AS BINARY) AS key",
            f"cast({value} AS BINARY) AS value",
            f"'{pipeline.topic.name}' AS topic",
            f"cast(id % {_TOPIC_PARTITIONS} AS INT) AS partition",
            f"id div {_TOPIC_PARTITIONS} AS offset",
            f"timestamp_micros({event_us}) AS timestamp",
            "cast(NULL AS ARRAY<STRUCT<key: STRING, value: BINARY>>) AS headers",
        )
        decoded = decode(records, pipeline.topic, zone="UTC", future_tolerance_s=pipeline.future_tolerance_s)
        return transformed([decoded], lake)


def _send_results(place: Place, project: Project, pipeline: Pipeline, lake: str) -> None:
    assert isinstance(pipeline.sink, Results)
    KafkaAdmin(cluster_of(project).for_python).create(pipeline.sink.name, _TOPIC_PARTITIONS)
    records = usable_records(place.spark, pipeline, [DAY], LakeRead(lake, 0, "UTC"))
    options = {f"kafka.{name}": value for name, value in place.kafka.items()}
    recomputed(records, pipeline, [DAY]).write.format("kafka").options(**options).option("topic", pipeline.sink.name).save()


def _write_checkpoint(project: Project, pipeline: Pipeline, records: int, *, batches: int) -> str:
    """The query's id. The last batch has read nothing, and its watermark has passed the day."""
    location, topic, delay_ms = project.checkpoint(pipeline), pipeline.topic.name, round((pipeline.watermark_s or 0) * 1000)
    query_id = "2d01b0bc-d1c6-4e4b-b0cf-21b6155f3c1a"
    for directory in ("offsets", "commits", "sources/0"):
        (location.path / directory).mkdir(parents=True)
    write_file(location.path / "metadata", json.dumps({"id": query_id}).encode())
    _write(location.path / "sources" / "0" / "0", "\0v1", {topic: _ends(0)})
    code = run_fingerprint(pipeline, project.settings.timezone)
    reached = [records * (batch + 1) // batches // _TOPIC_PARTITIONS for batch in range(batches)]
    before = [0, *reached[:-1]]
    watermarks_ms = [max(0, _BEGIN_MS + _DAY_MS * batch // batches - delay_ms) if batch else 0 for batch in range(batches)]
    watermarks_ms[-1] = DAY.end_ms
    for batch, (end, watermark_ms) in enumerate(zip(reached, watermarks_ms, strict=True)):
        head = {"batchWatermarkMs": watermark_ms, "batchTimestampMs": watermark_ms, "conf": {}}
        _write(location.path / "offsets" / str(batch), "v1", head, {topic: _ends(end)})
        _write(location.path / "commits" / str(batch), "v1", {"nextBatchWatermarkMs": watermark_ms})
    ran = [_record(topic, *one, code) for one in zip(range(batches), before, reached, watermarks_ms, strict=True)]
    append_entries(location, list(accumulate(ran, entry_after, initial=EMPTY))[1:])
    return query_id


def _record(topic: str, batch: int, begin: int, end: int, watermark_ms: int, code: str) -> BatchRecord:
    at, ranges = iso_utc(watermark_ms), {topic: dict.fromkeys(range(_TOPIC_PARTITIONS), (begin, end))}
    records = (end - begin) * _TOPIC_PARTITIONS
    return BatchRecord(batch, at, records, 0, 0, True, None, None, at, None, ranges, at, code=code)


def _ends(end: int) -> dict[str, int]:
    return {str(partition): end for partition in range(_TOPIC_PARTITIONS)}


def _write(path: Path, head: str, *lines: object) -> None:
    texts: Sequence[str] = [json.dumps(line) for line in lines]
    write_file(path, "\n".join((head, *texts)).encode())
