"""The console: tables as Spark's own console sink prints them, or the pipeline's own lines.

Everything is printed by the driver: lines that Python workers print end up on stderr, and those of two workers interleave.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from anabranch.operations.change import SinkChange
from anabranch.pipeline.sinks import Console, Out
from anabranch.streaming import messages
from anabranch.streaming.console_table import draw
from anabranch.streaming.sinks.base import BatchWriter, QueryRun, RewoundBatches, SinkPolicy, leave, register

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_RULE = "-" * 43


class ConsolePolicy(SinkPolicy):
    kind = "console"

    def batch_writer(self, run: QueryRun, out: Out) -> BatchWriter:
        sink = run.pipeline.sink
        print_batch = sink.print_batch if isinstance(sink, Console) else None
        if print_batch is not None:
            return lambda batch, _batch_id: print_batch(batch, out)
        return console_tables(out)

    def plan_rewind(self, rewound: RewoundBatches) -> SinkChange:
        del rewound
        return leave(self.kind, messages.CONSOLE_PRINTS_AGAIN())


def console_tables(out: Out) -> BatchWriter:
    """Spark's own table of each batch, as its console sink prints it, untruncated."""

    texts: list[Column] = []

    def write(batch: DataFrame, batch_id: int) -> None:
        if not texts:  # once for all batches: each call to the JVM counts
            texts.extend(_texts(batch))
        table = draw(batch.columns, batch.select(*texts).collect())
        out(f"{_RULE}\nBatch: {batch_id}\n{_RULE}\n{table}\n")

    return write


def _texts(frame: DataFrame) -> Iterator[Column]:
    """Each column as `show` would write it; `cast` writes nulls and bytes in another way. Spark has it for Java only."""
    from pyspark.sql import functions as F
    from pyspark.sql.classic.column import Column as ClassicColumn

    jvm = frame.sparkSession._jvm
    assert jvm is not None
    pretty, no_zone = jvm.org.apache.spark.sql.catalyst.expressions.ToPrettyString, jvm.scala.Option.empty()
    translate = jvm.org.apache.spark.sql.classic.ExpressionUtils
    for name in frame.columns:
        yield ClassicColumn(translate.column(pretty(translate.expression(F.col(f"`{name}`")._jc), no_zone)))


register(ConsolePolicy())
