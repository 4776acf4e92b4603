"""Micro-batches (seed 000): every visit, printed with the partition of the task that read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.pipeline.definition import Console, Out, Pipeline

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def transform(visits: DataFrame) -> DataFrame:
    return visits.select("visit_id", "event_time", "page")


def print_batch(batch: DataFrame, out: Out) -> None:
    from pyspark.sql import Row
    from pyspark.sql import functions as F

    out("✍️ Printing visits\n")
    # A datetime on the driver follows this process's zone, a local time without a zone follows the project's.
    local = batch.withColumn("event_time", F.col("event_time").cast("timestamp_ntz"))
    numbered = local.select(F.spark_partition_id(), *local.columns)
    # One partition at a time: a batch may be larger than the driver's memory.
    for number, *values in numbered.toLocalIterator():
        visit = Row(*local.columns)(*values)
        out(f"Partition[{number}] > Printing visit={visit}\n")


VISITS_LOG = Pipeline(
    name="visits-log",
    summary="prints each visit with the partition of the task that read it",
    source_topic="visits",
    sink=Console(),
    result_topic="visits_log",
    transform=transform,
    trigger_s=20,
    max_offsets=10,
    print_batch=print_batch,
)
