"""Pipelines run inside the test's own Spark session: many checkpoints, of many providers, at the price of one JVM."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from pyspark.sql import SparkSession

from anabranch.cli.main import run_command
from anabranch.kafka.admin import KafkaAdmin
from anabranch.kafka.records import GroupProducer, read_records
from anabranch.pipeline.builtin.catalog import BUILTIN
from anabranch.pipeline.definition import Pipeline, find_pipeline
from anabranch.pipeline.sinks import Results, Table
from anabranch.project.project import Project, open_project
from anabranch.storage.files import CheckpointLocation
from anabranch.streaming.batch_gate import BatchGate
from anabranch.streaming.query import start_query
from anabranch.streaming.sinks.base import QueryRun

_STATE = "spark.sql.streaming.stateStore"
_PROVIDERS = "org.apache.spark.sql.execution.streaming.state"
# Snapshots soon and often: a stale one is what a wrong rewind would fall over.
_SNAPSHOTS = {f"{_STATE}.minDeltasForSnapshot": "2", f"{_STATE}.maintenanceInterval": "300ms"}
PROVIDERS: Mapping[str, Mapping[str, str]] = {
    "changelog": {},
    "rocksdb": {f"{_STATE}.rocksdb.changelogCheckpointing.enabled": "false"},
    "hdfs": {f"{_STATE}.providerClass": f"{_PROVIDERS}.HDFSBackedStateStoreProvider"},
}


@dataclass(frozen=True)
class Stream:
    """One pipeline, sent to one sink with one checkpoint."""

    directory: Path
    spark: SparkSession
    kafka: Mapping[str, str]
    pipeline: Pipeline

    @property
    def project(self) -> Project:
        return open_project(self.directory)

    @property
    def location(self) -> CheckpointLocation:
        return self.project.checkpoint(self.pipeline)

    @property
    def checkpoint(self) -> Path:
        return self.location.path

    @property
    def sink(self) -> str:
        assert isinstance(self.pipeline.sink, Results | Table)
        return self.pipeline.sink.name if isinstance(self.pipeline.sink, Results) else self.pipeline.sink.path

    def run(self, max_offsets: int) -> None:
        """Reads what is there, in batches of so many offsets, and ends."""
        pipeline = self.pipeline.changed(max_offsets=max_offsets)
        run = QueryRun(pipeline, str(self.checkpoint), self.kafka, "UTC", ("earliest",), until_caught_up=True)
        query = start_query(self.spark, run, lambda _lines: None, BatchGate())
        try:
            query.awaitTermination()
        finally:
            query.stop()

    def anabranch(self, command: str, *arguments: str) -> int:
        """A command about this pipeline and its sink, in this process: it needs no JVM."""
        return run_command(
            ["-C", str(self.directory), command, self.pipeline.name, "--to", self.pipeline.sink.describe(), *arguments]
        )

    def copy_to(self, other: Stream, topics: KafkaAdmin) -> None:
        """The same history and results for another sink. Not for transformWithState, whose state names its own directory."""
        shutil.copytree(self.checkpoint, other.checkpoint)
        # In one JVM the second query with an id silently stops the first.
        (other.checkpoint / "metadata").write_text(json.dumps({"id": str(uuid4())}), encoding="utf-8")
        (other.checkpoint / ".metadata.crc").unlink()
        results = [(record.key, record.value or b"") for record in read_records(topics, self.sink)]
        GroupProducer(topics.properties, other.sink).send(results)


def stream(
    directory: Path,
    spark: SparkSession,
    kafka: Mapping[str, str],
    name: str,
    sink: Results | Table,
    provider: str = "changelog",
) -> Stream:
    session = spark.newSession()
    for key, value in {**_SNAPSHOTS, **PROVIDERS[provider]}.items():
        session.conf.set(key, value)
    project = open_project(directory)
    pipeline = project.pipeline(find_pipeline(BUILTIN.pipelines, name))
    return Stream(directory, session, kafka, pipeline.changed(sink=project.placed(sink)))


def run_all(streams: Sequence[Stream], max_offsets: int) -> None:
    """Two at a time: a small batch waits more than it works, and there are two cores."""
    with ThreadPoolExecutor(max_workers=2) as pool:
        list(pool.map(lambda one: one.run(max_offsets), streams))
