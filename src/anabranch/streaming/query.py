"""A pipeline as one streaming query: source, decoder, transformation, sink."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from anabranch.pipeline.definition import Out
from anabranch.streaming.batch_gate import BatchGate
from anabranch.streaming.decoder.decode import decode
from anabranch.streaming.sinks import policy_of
from anabranch.streaming.sinks.base import QueryRun
from anabranch.streaming.source import read_stream
from anabranch.streaming.transforms import count_records, transformed, without_problems


def start_query(spark: SparkSession, run: QueryRun, out: Out, gate: BatchGate) -> StreamingQuery:
    pipeline = run.pipeline
    source = read_stream(spark, run.kafka, pipeline.source_topic, start=run.start, max_offsets=pipeline.max_offsets)
    decoded = decode(source, zone=run.zone, future_tolerance_s=pipeline.future_tolerance_s, skip=pipeline.skip)
    records = count_records(decoded, pipeline)
    if not pipeline.takes_problems:
        records = without_problems(records)
    results = records if pipeline.per_batch else transformed(records, pipeline)
    writer = results.writeStream.queryName(pipeline.name).option("checkpointLocation", run.checkpoint)
    return policy_of(pipeline.sink).start(_triggered(writer, run).outputMode(pipeline.output_mode), run, out, gate)


def _triggered(writer: DataStreamWriter, run: QueryRun) -> DataStreamWriter:
    if run.until_caught_up:
        return writer.trigger(availableNow=True)
    if run.pipeline.trigger_s is not None:
        return writer.trigger(processingTime=f"{round(run.pipeline.trigger_s * 1000)} milliseconds")
    return writer


def end_after_batch(spark: SparkSession, query: StreamingQuery) -> None:
    """No further batch is planned. To be called while a batch is in the sink, which then continues to its commit.

    PySpark has no such call, and Spark's `stop()` abandons the batch. It sets the mark that Spark's own triggers set when they
    end by themselves. Set while a batch is being planned, Spark would interrupt the batch and leave it planned.
    """
    jvm = spark._jvm
    assert jvm is not None
    terminated = getattr(jvm.org.apache.spark.sql.execution.streaming.runtime, "TERMINATED$")
    query._jsq.streamingQuery().state().set(getattr(terminated, "MODULE$"))


def has_ended(query: StreamingQuery) -> bool:
    """`isActive` does not tell: it is false also while the last batch is on its way to its commit."""
    return not query._jsq.streamingQuery().queryExecutionThread().isAlive()
