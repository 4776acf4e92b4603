"""A pipeline made whole: its facts from core, its transformation from `pipelines/`, joined to source and sink as one query."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import assert_never

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from anabranch.pipeline.definition import Console, Pipeline, Table, Topic
from anabranch.streaming.batch_gate import Gate
from anabranch.streaming.decoder.decode import decode
from anabranch.streaming.sinks import console as sink
from anabranch.streaming.source import Start, read_stream

# The name under which a batch's progress carries what was counted on the way.
COUNTED = "decoded"


@dataclass(frozen=True)
class Transformation:
    transform: Callable[[DataFrame], DataFrame]
    console: sink.ConsoleSink
    partition_by: tuple[str, ...]


@dataclass(frozen=True)
class Run:
    """One pipeline's part of a run: all that its query needs to know."""

    pipeline: Pipeline
    checkpoint: Path
    # Not in a repr: it may hold passwords.
    kafka: Mapping[str, str] = field(repr=False)
    zone: str
    start: Start
    until_caught_up: bool


def load_transformation(pipeline: Pipeline) -> Transformation:
    module = import_module(pipeline.module)
    return Transformation(
        transform=partial(_transformed, module.transform, pipeline),
        console=getattr(module, "console", sink.tables),
        partition_by=getattr(module, "partition_by", ()),
    )


def _transformed(transform: Callable[[DataFrame, Pipeline], DataFrame], pipeline: Pipeline, visits: DataFrame) -> DataFrame:
    return transform(visits, pipeline)


def start_query(spark: SparkSession, run: Run, out: sink.Out, gate: Gate) -> StreamingQuery:
    pipeline, transformation = run.pipeline, load_transformation(run.pipeline)
    records = read_stream(spark, run.kafka, pipeline.source_topic, start=run.start, max_offsets=pipeline.max_offsets)
    visits = counted(decode(records, zone=run.zone, future_tolerance_s=pipeline.future_tolerance_s))
    if not pipeline.takes_problems:
        visits = without_problems(visits)
    results = visits if pipeline.per_batch else transformation.transform(visits)
    writer = results.writeStream.queryName(pipeline.name).option("checkpointLocation", str(run.checkpoint))
    return _into_sink(_triggered(writer, run).outputMode(pipeline.output_mode), run, transformation, out, gate)


def counted(visits: DataFrame) -> DataFrame:
    """Records and those with a problem are counted on the way, so that none vanishes unseen."""
    return visits.observe(COUNTED, F.count(F.lit(1)).alias("records"), F.count("problem").alias("problems"))


def without_problems(visits: DataFrame) -> DataFrame:
    return visits.where("problem is null")


def _triggered(writer: DataStreamWriter, run: Run) -> DataStreamWriter:
    if run.until_caught_up:
        return writer.trigger(availableNow=True)
    if run.pipeline.trigger_s is not None:
        return writer.trigger(processingTime=f"{round(run.pipeline.trigger_s * 1000)} milliseconds")
    return writer


def _into_sink(writer: DataStreamWriter, run: Run, transformation: Transformation, out: sink.Out, gate: Gate) -> StreamingQuery:
    match run.pipeline.sink:
        case Console():
            write = transformation.console(out)
        case Topic(name):
            write = sink.topic(name, run.kafka, run.pipeline.name, run.pipeline.grouping)
        case Table(path):
            # Delta's own sink: it writes a batch once, by its id, however often the batch runs.
            return writer.partitionBy(*transformation.partition_by).format("delta").start(path)
        case other:
            assert_never(other)
    if run.pipeline.per_batch:
        write = sink.per_batch(transformation.transform, write)
    return writer.foreachBatch(gate.guard(write)).start()
