"""Runs a streaming query for a number of batches and says how long each took. Ours is started as `anabranch run` starts it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import monotonic, sleep
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

from anabranch.pipeline.definition import Pipeline
from anabranch.streaming.batch_gate import BatchGate
from anabranch.streaming.query import start_query
from anabranch.streaming.sinks.base import QueryRun
from benchmarks.case import Place

_LOOK_S = 0.2
_SAY_EVERY_S = 5.0


@dataclass(frozen=True)
class Batch:
    number: int
    rows: int
    duration_ms: float


def checkpoint_of(place: Place, name: str) -> Path:
    return place.directory / "checkpoints" / name


def start_ours(place: Place, pipeline: Pipeline, name: str | None = None, *, until_caught_up: bool = True) -> StreamingQuery:
    checkpoint = checkpoint_of(place, name or pipeline.name)
    run = QueryRun(pipeline, str(checkpoint), place.kafka, "UTC", ("earliest",), until_caught_up)
    return start_query(place.spark, run, lambda _lines: None, BatchGate())


def full_batches(place: Place, query: StreamingQuery, rows: int, *, at_most: int | None = None) -> list[Batch]:
    """The batches of so many rows, until the query ends or there are enough; then it is stopped."""
    said_s = monotonic()
    # Counted while it runs: Spark remembers the last 100 batches alone.
    found: dict[int, Batch] = {}
    while True:
        is_over = not query.isActive
        for progress in query.recentProgress:
            found[progress["batchId"]] = _batch(progress)
        full = [batch for batch in found.values() if batch.rows >= rows * 0.95]
        if monotonic() - said_s > _SAY_EVERY_S:
            said_s = monotonic()
            place.say(f"{len(full)} batches of {rows:,} rows")
        if is_over or (at_most is not None and len(full) >= at_most):
            break
        sleep(_LOOK_S)
    query.stop()
    if (error := query.exception()) is not None:
        raise error
    return full


def _batch(progress: Any) -> Batch:
    return Batch(progress["batchId"], progress["numInputRows"], float(progress["durationMs"].get("triggerExecution", 0)))


def rows_per_s(batches: list[Batch]) -> float:
    return median(1000 * batch.rows / batch.duration_ms for batch in batches)


def duration_ms(batches: list[Batch]) -> float:
    return median(batch.duration_ms for batch in batches)


StartPlain = Callable[[Place, int], StreamingQuery]
