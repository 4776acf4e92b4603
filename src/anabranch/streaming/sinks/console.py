"""Where results go. A sink is a function of one batch and its id; what it prints goes through one `Out`, in whole lines.

Everything is printed by the driver: lines that Python workers print end up on stderr, those of two workers in each other.
A batch is always taken whole: `show()` or `limit` on a stateful frame leaves state unwritten and kills the next batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.classic.column import Column as ClassicColumn

from anabranch.streaming.console_table import draw
from anabranch.streaming.result_headers import stream_headers
from anabranch.streaming.results import as_records

# Takes whole lines, each with its end.
Out = Callable[[str], None]
BatchSink = Callable[[DataFrame, int], None]
ConsoleSink = Callable[[Out], BatchSink]

_RULE = "-" * 43


def tables(out: Out) -> BatchSink:
    """Spark's own table of each batch, as its console sink prints it, untruncated."""

    texts: list[Column] = []

    def write(batch: DataFrame, batch_id: int) -> None:
        if not texts:  # once for all batches: each call over the line to Java counts
            texts.extend(_texts(batch))
        table = draw(batch.columns, batch.select(*texts).collect())
        out(f"{_RULE}\nBatch: {batch_id}\n{_RULE}\n{table}\n")

    return write


def _texts(frame: DataFrame) -> Iterator[Column]:
    """Each column as `show` would write it; `cast` writes nulls and bytes in another way. Spark has it for Java only."""
    jvm = frame.sparkSession._jvm
    assert jvm is not None
    pretty, no_zone = jvm.org.apache.spark.sql.catalyst.expressions.ToPrettyString, jvm.scala.Option.empty()
    translate = jvm.org.apache.spark.sql.classic.ExpressionUtils
    for name in frame.columns:
        yield ClassicColumn(translate.column(pretty(translate.expression(F.col(f"`{name}`")._jc), no_zone)))


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


def topic(name: str, kafka: Mapping[str, str], pipeline: str, grouping: tuple[str, ...]) -> BatchSink:
    """Each result as a record, under the key of its grouping. At least once: a batch that ran again is written again."""
    options = {"topic": name, **{f"kafka.{key}": value for key, value in kafka.items()}}

    def write(batch: DataFrame, batch_id: int) -> None:
        as_records(batch, grouping, stream_headers(pipeline, batch_id)).write.format("kafka").options(**options).save()

    return write


def per_batch(transform: Callable[[DataFrame], DataFrame], write: BatchSink) -> BatchSink:
    """The transformation inside the sink: each batch by itself, nothing kept from one to the next."""
    return lambda batch, batch_id: write(transform(batch), batch_id)
