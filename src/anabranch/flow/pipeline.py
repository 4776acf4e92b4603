"""A pipeline made whole: its facts from core, its transformation from `pipelines/`, joined to source and sink as one query."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from anabranch.core.pipeline import Console, Pipeline
from anabranch.flow.event import decode
from anabranch.flow.gate import Gate
from anabranch.flow.sink import BatchSink, ConsoleSink, Out
from anabranch.flow.source import Start, read_stream

# The name under which a batch's progress carries what was counted on the way.
COUNTED = "decoded"


@dataclass(frozen=True)
class Transformation:
    transform: Callable[[DataFrame], DataFrame]
    console: ConsoleSink


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
    return Transformation(module.transform, module.console)


def start_query(spark: SparkSession, run: Run, out: Out, gate: Gate) -> StreamingQuery:
    pipeline, transformation = run.pipeline, load_transformation(run.pipeline)
    records = read_stream(spark, run.kafka, pipeline.source_topic, start=run.start, max_offsets=pipeline.max_offsets)
    results = transformation.transform(usable(decode(records, zone=run.zone, future_tolerance_s=pipeline.future_tolerance_s)))
    writer = (
        results.writeStream.queryName(pipeline.name)
        .option("checkpointLocation", str(run.checkpoint))
        .foreachBatch(gate.guard(_sink(run, transformation, out)))
    )
    if run.until_caught_up:
        writer = writer.trigger(availableNow=True)
    elif pipeline.trigger_s is not None:
        writer = writer.trigger(processingTime=f"{round(pipeline.trigger_s * 1000)} milliseconds")
    return writer.start()


def usable(visits: DataFrame) -> DataFrame:
    """The visits without a problem. Those with one are counted, so that none vanishes unseen."""
    counted = visits.observe(COUNTED, F.count(F.lit(1)).alias("records"), F.count("problem").alias("problems"))
    return counted.where("problem is null")


def _sink(run: Run, transformation: Transformation, out: Out) -> BatchSink:
    match run.pipeline.sink:
        case Console():
            return transformation.console(out)
        case other:
            raise NotImplementedError(other)
