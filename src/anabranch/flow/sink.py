"""Where results go. A sink is a function of one batch and its id; what it prints goes through one `Out`, in whole lines.

Everything is printed by the driver: lines that Python workers print end up on stderr, those of two workers in each other.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

# Takes whole lines, each with its end.
Out = Callable[[str], None]
BatchSink = Callable[[DataFrame, int], None]
ConsoleSink = Callable[[Out], BatchSink]


def visit_lines(out: Out) -> BatchSink:
    """Seed 000: each visit under the partition of the task that read it."""

    def write(batch: DataFrame, _batch_id: int) -> None:
        out("✍️ Printing visits\n")
        # A datetime on the driver follows this process's zone, a local time without zone follows the project's.
        local = batch.withColumn("event_time", F.col("event_time").cast("timestamp_ntz"))
        numbered = local.select(F.spark_partition_id(), *local.columns)
        # One partition at a time: a batch may be larger than the driver's memory.
        for number, *values in numbered.toLocalIterator():
            visit = Row(*local.columns)(*values)
            out(f"Partition[{number}] > Printing visit={visit}\n")

    return write
