"""Micro-batches (seed 000): every visit, printed with the partition of the task that read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anabranch as ab
from anabranch.pipeline.builtin.visits import VISITS
from anabranch.pipeline.declare import declared_pipeline
from anabranch.pipeline.sinks import Out

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def print_visits(batch: DataFrame, out: Out) -> None:
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


@ab.pipeline(VISITS, trigger="20s", max_offsets=10, to=ab.console(print_visits))
def visits_log(visits: DataFrame) -> DataFrame:
    """Prints each visit with the partition of the task that read it."""
    return visits.select("visit_id", "event_time", "page")


VISITS_LOG = declared_pipeline(visits_log)
