"""Recomputing from a real lake: only the files it needs are read, and records are judged by today's rules."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from anabranch.delta.lake import files_within
from anabranch.pipeline.builtin.catalog import VISITS_LAKE
from anabranch.pipeline.builtin.visits import VISITS
from anabranch.pipeline.builtin.visits_counter import VISITS_COUNTER
from anabranch.pipeline.lake import PARTITIONS
from anabranch.reprocess.plan import Range, hours_of
from anabranch.reprocess.recompute import LakeRead, recomputed, usable_records
from anabranch.streaming.decoder.decode import decode
from anabranch.streaming.transforms import transformed

pytestmark = pytest.mark.spark

HOURS = 12
MIDNIGHT = round(datetime(2025, 9, 4, tzinfo=UTC).timestamp() * 1000)
MINUTE = 60_000


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Half a day of visits, 6 in each hour, and two records without a time: written as visits-lake writes them."""
    path = tmp_path_factory.mktemp("lake") / "visits"
    times = [datetime.fromtimestamp((MIDNIGHT + n * 10 * MINUTE) / 1000, UTC).isoformat() for n in range(HOURS * 6)]
    values = [json.dumps({"visit_id": n, "event_time": time}) for n, time in enumerate(times)]
    rows = [(value, offset) for offset, value in enumerate([*values, "{}", "not json"])]
    records = spark.createDataFrame(rows, "value STRING, offset BIGINT").select(
        F.lit(None).cast("binary").alias("key"),
        F.col("value").cast("binary"),
        F.lit("visits").alias("topic"),
        F.lit(0).alias("partition"),
        "offset",
        F.lit(datetime(2025, 9, 5, tzinfo=UTC)).alias("timestamp"),
        F.lit(None).cast("array<struct<key:string,value:binary>>").alias("headers"),
    )
    rows_of_lake = transformed([decode(records, VISITS, zone="UTC", future_tolerance_s=3600)], VISITS_LAKE)
    rows_of_lake.coalesce(1).write.format("delta").partitionBy(*PARTITIONS).save(str(path))
    return path


def test_a_range_reads_the_files_of_its_hours_and_of_records_without_a_time(spark: SparkSession, lake: Path) -> None:
    assert len(DeltaTable(lake).file_uris()) == HOURS + 1
    wanted = Range(MIDNIGHT + 420 * MINUTE, MIDNIGHT + 490 * MINUTE)  # 07:00 to 08:10
    planned = files_within(lake, *hours_of(wanted))
    assert (planned.files, planned.rows_by_hour, planned.rows_without_time) == (3, {2025090407: 6, 2025090408: 6}, 2)
    results = _recomputed(spark, lake, wanted, planned.version)
    assert [count for _, count in sorted(results.items())] == [1] * 7
    # What Spark itself says of the scan agrees with the plan.
    assert next(_scans(spark)) == {"number of files read": 3, "number of partitions read": 3, "number of output rows": 14}


def test_a_record_that_an_earlier_decoder_rejected_counts_today(spark: SparkSession, lake: Path) -> None:
    window = Range(MIDNIGHT, MIDNIGHT + 10 * MINUTE)
    before = DeltaTable(lake).version()
    dataset = DeltaTable(lake).to_pyarrow_dataset()
    (good,) = dataset.to_table(filter=pc.field("offset") == 0).to_pylist()
    unknown = dict.fromkeys(("event_time", "year", "month", "day", "hour"))
    stale = {**good, **unknown, "offset": 1000, "problem": "an earlier rule"}
    write_deltalake(lake, pa.Table.from_pylist([stale], dataset.schema), mode="append")
    assert list(_recomputed(spark, lake, window, before + 1).values()) == [2]
    # A plan has pinned its version: what came later is not in it.
    assert list(_recomputed(spark, lake, window, before).values()) == [1]


def test_a_record_that_the_settings_skip_is_left_out_as_by_the_stream(spark: SparkSession, lake: Path) -> None:
    wanted, version = Range(MIDNIGHT, MIDNIGHT + 20 * MINUTE), DeltaTable(lake).version()
    whole = _recomputed(spark, lake, wanted, version)
    skipping = _recomputed(spark, lake, wanted, version, ("visits:0:1", "visits:1:0", "others:0:0"))
    first, second = sorted(whole)
    assert skipping == {first: whole[first]}
    assert whole[second] == 1


def _recomputed(spark: SparkSession, lake: Path, wanted: Range, version: int, skip: tuple[str, ...] = ()) -> dict[str, int]:
    pipeline = VISITS_COUNTER.changed(skip=skip)
    records = usable_records(spark, pipeline, [wanted], LakeRead(str(lake), version, "UTC"))
    return {row["key"]: json.loads(row["value"])["count"] for row in recomputed(records, pipeline, [wanted]).collect()}


def _scans(spark: SparkSession) -> Iterator[dict[str, int]]:
    """The metrics of each table that Spark has read, the latest first."""
    store = spark._jsparkSession.sharedState().statusStore()
    executions = store.executionsList()
    for number in reversed(range(executions.size())):
        execution = executions.apply(number).executionId()
        values = store.executionMetrics(execution)
        nodes = store.planGraph(execution).allNodes()
        for node in (nodes.apply(n) for n in range(nodes.size())):
            if node.name().startswith("Scan parquet"):
                metrics = [node.metrics().apply(n) for n in range(node.metrics().size())]
                wanted = ("number of files read", "number of partitions read", "number of output rows")
                yield {
                    metric.name(): int(values.apply(metric.accumulatorId()).replace(",", ""))
                    for metric in metrics
                    if metric.name() in wanted
                }
