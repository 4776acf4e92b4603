"""A pipeline as one streaming query: source, decoder, transformation, sink.

Where records come from and where results go are parameters: a run reads Kafka and writes to the pipeline's sink, a test and a
proof (rehearsal.py) read files and collect. All that is between is the same.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from anabranch.pipeline.sinks import Out
from anabranch.streaming.batch_gate import BatchGate
from anabranch.streaming.decoder.decode import decode
from anabranch.streaming.sinks import policy_of
from anabranch.streaming.sinks.base import BatchWriter, QueryRun
from anabranch.streaming.source import read_stream
from anabranch.streaming.transforms import count_records, transformed, without_problems


def start_query(spark: SparkSession, run: QueryRun, out: Out, gate: BatchGate) -> StreamingQuery:
    topics, most = run.pipeline.topics, run.pipeline.max_offsets
    sources = [
        read_stream(spark, run.kafka, topic.name, start=start, max_offsets=most)
        for topic, start in zip(topics, run.starts, strict=True)
    ]
    return start_on(sources, run, policy_of(run.pipeline.sink).batch_writer(run, out), gate)


def start_on(sources: Sequence[DataFrame], run: QueryRun, write: BatchWriter, gate: BatchGate) -> StreamingQuery:
    """A query on these sources, one for each topic, in columns of Kafka's connector."""
    pipeline = run.pipeline
    inputs = [usable_records(source, run, number) for number, source in enumerate(sources)]
    results = inputs[0] if pipeline.per_batch else transformed(inputs, pipeline)
    writer = results.writeStream.queryName(pipeline.name).option("checkpointLocation", run.checkpoint)
    writer = _triggered(writer, run).outputMode(pipeline.output_mode)
    return writer.foreachBatch(gate.guard(_per_batch(run, write) if pipeline.per_batch else write)).start()


def usable_records(source: DataFrame, run: QueryRun, number: int) -> DataFrame:
    """What the pipeline takes of one of its topics."""
    pipeline, topic = run.pipeline, run.pipeline.topics[number]
    decoded = decode(source, topic, zone=run.zone, future_tolerance_s=pipeline.future_tolerance_s, skip=pipeline.skip)
    records = count_records(decoded, pipeline, number)
    return records if pipeline.takes_problems else without_problems(records)


def _per_batch(run: QueryRun, write: BatchWriter) -> BatchWriter:
    """The transformation inside the sink: each batch by itself, nothing kept from one to the next."""
    return lambda batch, batch_id: write(transformed([batch], run.pipeline), batch_id)


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
