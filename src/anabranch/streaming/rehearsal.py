"""A pipeline on records of one's own, without Kafka: its real query with decoder, transformation, watermark and checkpoint.

A batch is a file for each topic, in the columns of Kafka's connector; results are collected. Each run of the query resumes
from the checkpoint, processes the batches that were added one by one, and ends.
"""

from __future__ import annotations

import json
import os
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import time
from typing import Any
from uuid import uuid4

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, Row, SparkSession

from anabranch.checkpoint.history import BatchRecord
from anabranch.checkpoint.reader import read_batch, read_logs
from anabranch.pipeline.definition import Pipeline
from anabranch.storage.files import CheckpointLocation
from anabranch.streaming import messages
from anabranch.streaming.batch_figures import batch_record
from anabranch.streaming.batch_gate import BatchGate
from anabranch.streaming.blame import blame
from anabranch.streaming.query import start_on
from anabranch.streaming.query_events import recent_progress
from anabranch.streaming.sinks.base import QueryRun

COLUMNS = (
    "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP,"
    " headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
)


@dataclass(frozen=True)
class RawRecord:
    """A record as Kafka would hold it."""

    value: bytes | None
    timestamp: datetime
    key: bytes | None = None
    headers: Mapping[str, bytes] | None = None


@dataclass(frozen=True)
class RehearsedBatch:
    rows: Sequence[Row]
    figures: BatchRecord


class Rehearsal:
    def __init__(self, spark: SparkSession, pipeline: Pipeline, directory: Path, zone: str) -> None:
        # A name of its own: Spark has one query of each name in a session. All that was added is read, file for file.
        self.pipeline = pipeline.changed(name=f"{pipeline.name}-{uuid4().hex[:8]}")
        self._spark, self._directory, self._zone = spark, directory, zone
        self._location = CheckpointLocation(directory / "checkpoint")
        self._offsets = [0] * len(pipeline.topics)
        self._added = 0
        # Spark takes files in the order of their times, to the millisecond.
        self._first_s = time() - 3600
        for source in self._sources:
            source.mkdir(parents=True)

    @property
    def _sources(self) -> list[Path]:
        return [self._directory / f"source-{number}" for number in range(len(self.pipeline.topics))]

    def add(self, batch: Sequence[Iterable[RawRecord]]) -> None:
        """The records of one batch, for each topic of the pipeline."""
        for number, records in enumerate(batch):
            lines = [json.dumps(self._line(record, number)) for record in records]
            file = self._sources[number] / f"{self._added:06}.json"
            file.write_text("\n".join(lines), encoding="utf-8")
            os.utime(file, (self._first_s + self._added, self._first_s + self._added))
        self._added += 1

    def _line(self, record: RawRecord, number: int) -> dict[str, Any]:
        offset, self._offsets[number] = self._offsets[number], self._offsets[number] + 1
        headers = [{"key": name, "value": _text(value)} for name, value in (record.headers or {}).items()]
        return {
            "key": _text(record.key),
            "value": _text(record.value),
            "topic": self.pipeline.topics[number].name,
            "partition": 0,
            "offset": offset,
            "timestamp": record.timestamp.astimezone(UTC).isoformat(),
            "headers": headers or None,
        }

    def run(self) -> list[RehearsedBatch]:
        """The batches that were added since, and those without data that close windows behind them."""
        rows: dict[int, Sequence[Row]] = {}

        def collect(batch: DataFrame, batch_id: int) -> None:
            rows[batch_id] = batch.collect()

        reader = self._spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1)
        sources = [reader.json(str(source)) for source in self._sources]
        run = QueryRun(self.pipeline, str(self._location), {}, self._zone, (), until_caught_up=True)
        try:
            query = start_on(sources, run, collect, BatchGate())
            query.awaitTermination()
        except Exception as error:
            text = str(error) if isinstance(error, StreamingQueryException) else error
            if (users := blame(self.pipeline, text)) is None:
                raise
            raise messages.REHEARSAL_FAILED(**vars(users)) from None
        collected = [one for one in recent_progress(query) if one["batchId"] in rows]
        return [RehearsedBatch(rows[one["batchId"]], self._figures(one)) for one in collected]

    def _figures(self, progress: dict[str, Any]) -> BatchRecord:
        return batch_record(progress, self.pipeline, read_batch(self._location.storage(), progress["batchId"]))

    def repeat_last(self) -> list[RehearsedBatch]:
        """As after a crash between the sink's write and Spark's commit: the last batch runs again."""
        storage = self._location.storage()
        newest = read_logs(storage).commits.newest
        if newest is None:
            return []
        for name in (f"{newest}", f".{newest}.crc"):
            storage.move(f"commits/{name}", f"aside/{uuid4().hex}{name}")
        return self.run()

    @property
    def watermark_ms(self) -> int | None:
        """That the next batch runs with; None: there is none yet."""
        logs = read_logs(self._location.storage())
        entry = None if logs.commits.newest is None else logs.commit_entry(logs.commits.newest)
        return entry.next_watermark_ms or None if entry else None

    def read(self, number: int) -> DataFrame:
        """All records of a topic so far, as a batch."""
        return self._spark.read.schema(COLUMNS).json(str(self._sources[number]))


def _text(value: bytes | None) -> str | None:
    return None if value is None else b64encode(value).decode()
