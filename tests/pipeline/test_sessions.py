"""visits-sessions on real state over many batches: visits end, and their state goes with them."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from anabranch.pipeline.builtin import session_fold
from anabranch.pipeline.builtin.visits_sessions import VISITS_SESSIONS
from anabranch.streaming.transforms import transformed

pytestmark = pytest.mark.spark

BATCHES = 16
VISITS = 40
# A visit is over when the watermark has moved 10 minutes past where it stood at its last update: at the next step.
STEP = timedelta(minutes=10)


def test_state_does_not_grow_with_the_visits_that_have_been(spark: SparkSession, tmp_path: Path) -> None:
    finished = _run(spark, tmp_path)
    assert sorted(finished) == sorted(f"{batch}-{n}" for batch in range(BATCHES) for n in range(VISITS))

    last = max(int(path.name) for path in (tmp_path / "checkpoint" / "commits").iterdir() if path.name.isdecimal())
    open_visits = [_open_visits(spark, tmp_path, batch) for batch in (last // 3, 2 * last // 3, last)]
    assert open_visits == [VISITS, VISITS, 0]
    assert _state(spark, tmp_path, last, readRegisteredTimers="true").count() == 0


def _run(spark: SparkSession, directory: Path) -> list[str]:
    """Each batch holds visits of its own, a step later than the batch before; those that were emitted as finished."""
    (directory / "visits").mkdir()
    for batch in range(BATCHES):
        time = (datetime(2025, 9, 4, tzinfo=UTC) + batch * STEP).isoformat()
        lines = [json.dumps({"visit_id": f"{batch}-{n}", "event_time": time}) for n in range(VISITS)]
        file = directory / "visits" / f"{batch:02}.json"
        file.write_text("\n".join(lines), encoding="utf-8")
        os.utime(file, (batch, batch))  # Spark takes files by their age, and these are made within a moment
    finished: list[str] = []

    def keep(results: DataFrame, _batch: int) -> None:
        finished.extend(row["visit_id"] for row in results.collect() if row["is_finished"])

    source = spark.readStream.schema("visit_id STRING, event_time TIMESTAMP").option("maxFilesPerTrigger", 1)
    results = transformed(source.json(str(directory / "visits")), VISITS_SESSIONS)
    writer = results.writeStream.outputMode("update").option("checkpointLocation", str(directory / "checkpoint"))
    query = writer.foreachBatch(keep).trigger(availableNow=True).start()
    query.awaitTermination()
    return finished


def _open_visits(spark: SparkSession, directory: Path, batch: int) -> int:
    buckets = _state(spark, directory, batch, stateVarName="visits").select(F.col("value.visits")).collect()
    return sum(len(session_fold.from_text(row[0])) for row in buckets)


def _state(spark: SparkSession, directory: Path, batch: int, **options: str) -> DataFrame:
    reader = spark.read.format("statestore").options(**options).option("batchId", batch)
    return reader.load(str(directory / "checkpoint"))
