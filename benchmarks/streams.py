"""Runs a streaming query for a number of batches and says how long each took. Ours is started as `anabranch run` starts it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from statistics import median
from time import monotonic
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

from anabranch.pipeline.definition import Pipeline
from anabranch.streaming.batch_gate import BatchGate
from anabranch.streaming.query import start_query
from anabranch.streaming.query_events import Event, EventListener, Progressed, recent_progress
from anabranch.streaming.sinks.base import QueryRun
from benchmarks.case import Place

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
    """The batches of so many rows, until the query ends or there are enough; then it is stopped. Ours and plain are watched by
    the listener of `anabranch run`: what it costs is in both."""
    events: SimpleQueue[Event] = SimpleQueue()
    listener = EventListener(events)
    place.spark.streams.addListener(listener)
    found = _recent(query)
    said_s = monotonic()
    while query.isActive and (at_most is None or len(_full(found, rows)) < at_most):
        with suppress(Empty):
            if isinstance(event := events.get(timeout=_SAY_EVERY_S), Progressed):
                found[event.progress["batchId"]] = _batch(event.progress)
        if monotonic() - said_s > _SAY_EVERY_S:
            said_s = monotonic()
            place.say(f"{len(_full(found, rows))} batches of {rows:,} rows")
    query.stop()
    place.spark.streams.removeListener(listener)
    if (error := query.exception()) is not None:
        raise error
    return _full(found | _recent(query), rows)


def _full(found: dict[int, Batch], rows: int) -> list[Batch]:
    return [batch for batch in found.values() if batch.rows >= rows * 0.95]


def _recent(query: StreamingQuery) -> dict[int, Batch]:
    return {one["batchId"]: _batch(one) for one in recent_progress(query)}


def _batch(progress: Any) -> Batch:
    return Batch(progress["batchId"], progress["numInputRows"], float(progress["durationMs"].get("triggerExecution", 0)))


def rows_per_s(batches: list[Batch]) -> float:
    return median(1000 * batch.rows / batch.duration_ms for batch in batches)


def duration_ms(batches: list[Batch]) -> float:
    return median(batch.duration_ms for batch in batches)


StartPlain = Callable[[Place, int], StreamingQuery]
