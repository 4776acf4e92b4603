"""Runs pipelines in one Spark application until they are stopped, or have caught up.

It waits for events: a batch that ended, a query that ended, somebody who wants it to stop. Between them, once in a tick,
it looks at what sends no events: Kafka's end offsets, and requests to stop from other terminals.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)
from pyspark.sql.streaming.query import StreamingQuery

from anabranch.checkpoint.batch_history import BatchRecord, append_batch
from anabranch.checkpoint.log_reader import Checkpoint
from anabranch.checkpoint.logs import parse_kafka_offsets
from anabranch.checkpoint.offsets import OffsetRange, lag_of
from anabranch.errors import AnabranchError, Failed
from anabranch.kafka.admin import Topics
from anabranch.pipeline.definition import Table
from anabranch.streaming.batch_gate import Gate
from anabranch.streaming.failures import cause_of, summary_of
from anabranch.streaming.query import COUNTED, Run, start_query
from anabranch.streaming.run_progress import RunProgress
from anabranch.streaming.sinks.console import Out
from anabranch.streaming.stop import is_stop_asked, withdraw_stop

TICK_S = 0.25
LOOK_AT_KAFKA_S = 2.0
# A query that Kafka's absence ended is started again after 1, 2, 4 ... 30 s.
BACKOFF_S = (1.0, 30.0)

Show = Callable[[Sequence[RunProgress]], None]


@dataclass(frozen=True)
class Progressed:
    query_id: str
    progress: dict[str, Any]


@dataclass(frozen=True)
class Ended:
    run_id: str
    error: str | None


class StopAll:
    """Somebody pressed Ctrl-C."""


Event = Progressed | Ended | StopAll


@dataclass
class _Running:
    """One pipeline of the run, from start to end, over restarts."""

    run: Run
    view: RunProgress
    # Called once, when its query has ended for good: others may run the pipeline from then on.
    release: Callable[[], None]
    gate: Gate = field(default_factory=Gate)
    query: StreamingQuery | None = None
    reach: dict[int, OffsetRange] = field(default_factory=dict)
    read: Mapping[int, int] = field(default_factory=dict)
    newest_at_stop: int | None = None
    retry_at_s: float | None = None
    failures: int = 0
    error: AnabranchError | None = None
    ended: bool = False


class Runner:
    def __init__(
        self,
        spark: SparkSession,
        runs: Sequence[tuple[Run, Callable[[], None]]],
        topics: Topics,
        out: Out,
        show: Show,
        log_file: str,
    ) -> None:
        self._spark, self._topics, self._out, self._show, self._log_file = spark, topics, out, show, log_file
        self._running = [_Running(run, RunProgress(run.pipeline.name), release) for run, release in runs]
        self._events: SimpleQueue[Event] = SimpleQueue()
        self._looked_at_s = 0.0
        self._stopping = False

    @property
    def is_stopping(self) -> bool:
        return self._stopping

    def stop_all(self) -> None:
        """Safe to be called from a signal handler."""
        self._stopping = True
        self._events.put(StopAll())

    def run(self) -> None:
        """Returns when all pipelines have ended; raises what ended one that nobody stopped."""
        self._spark.streams.addListener(_Listener(self._events))
        for running in self._running:
            self._start(running)
        while not all(running.ended for running in self._running):
            self._await_event()
            for running in self._running:
                self._tick(running)
            self._look_at_kafka()
            self._show([running.view for running in self._running])
        for running in self._running:
            if running.error is not None:
                raise running.error

    def _start(self, running: _Running) -> None:
        running.retry_at_s = None
        running.read = Checkpoint(running.run.checkpoint).next_start().get(running.run.pipeline.source_topic, {})
        running.query = start_query(self._spark, running.run, self._out, running.gate)
        self._see(running, state="running", note="")

    def _await_event(self) -> None:
        try:
            event = self._events.get(timeout=TICK_S)
        except Empty:
            return
        while True:
            self._handle(event)
            try:
                event = self._events.get_nowait()
            except Empty:
                return

    def _handle(self, event: Event) -> None:
        match event:
            case StopAll():
                for running in self._running:
                    self._close(running)
            case Progressed(query_id, progress):
                for running in self._running:
                    if running.query is not None and running.query.id == query_id:
                        self._progressed(running, progress)
            case Ended(run_id, error):
                for running in self._running:
                    if running.query is not None and running.query.runId == run_id:
                        self._query_ended(running, error)

    def _progressed(self, running: _Running, progress: dict[str, Any]) -> None:
        # A query without data reports its last batch again, with nothing in it.
        if "addBatch" not in progress["durationMs"]:
            return
        record = _batch_record(progress)
        running.failures = 0
        running.read = _end_offsets(progress, running.run.pipeline.source_topic) or running.read
        append_batch(running.run.checkpoint, record)
        watermark = record.watermark if record.watermark and not record.watermark.startswith("1970-01-01T00:00:00") else None
        self._see(
            running,
            batch=record.batch,
            rows=running.view.rows + record.records,
            problems=running.view.problems + record.problems,
            rows_per_s=record.rows_per_s,
            watermark=watermark,
            lag=_lag(running),
        )

    def _query_ended(self, running: _Running, error: str | None) -> None:
        running.query = None
        cause = "stopped" if error is None else cause_of(error)
        if cause == "kafka away" and not running.gate.is_closed:
            running.retry_at_s = monotonic() + min(BACKOFF_S[0] * 2**running.failures, BACKOFF_S[1])
            running.failures += 1
            self._see(running, state="waiting", note="Kafka's absence ended it; it starts again on its checkpoint")
            return
        self._end(running)
        if cause != "stopped" and not (running.gate.is_closed and cause == "kafka away"):
            running.error = self._failure(running, cause, error or "")
        self._see(running, state="failed" if running.error else "stopped", note="")

    def _tick(self, running: _Running) -> None:
        if running.ended:
            return
        if not running.gate.is_closed and is_stop_asked(running.run.checkpoint):
            self._close(running)
        if running.gate.is_closed and running.query is None:
            self._end(running)
            self._see(running, state="stopped", note="")
        elif running.gate.is_closed and running.query is not None and self._is_quiet(running):
            running.query.stop()
        elif running.retry_at_s is not None and monotonic() >= running.retry_at_s:
            self._start(running)

    def _close(self, running: _Running) -> None:
        if not running.gate.is_closed:
            running.newest_at_stop = max(Checkpoint(running.run.checkpoint).committed_batches(), default=None)
        running.gate.close()
        withdraw_stop(running.run.checkpoint)
        if not running.ended:
            self._see(running, state="stopping", note="after the batch under way")

    def _end(self, running: _Running) -> None:
        running.ended = True
        running.release()

    def _is_quiet(self, running: _Running) -> bool:
        """Looks into the checkpoint, not at the progress: an event can be late, a commit is a fact."""
        newest = max(Checkpoint(running.run.checkpoint).committed_batches(), default=None)
        if isinstance(running.run.pipeline.sink, Table):
            # Delta's sink has no gate, and needs none: a batch that is abandoned is written once all the same.
            assert running.query is not None
            return newest != running.newest_at_stop or not running.query.status["isTriggerActive"]
        return running.gate.is_quiet(newest)

    def _look_at_kafka(self) -> None:
        if monotonic() - self._looked_at_s < LOOK_AT_KAFKA_S:
            return
        self._looked_at_s = monotonic()
        for running in self._running:
            if running.ended:
                continue
            try:
                running.reach = self._topics.reach(running.run.pipeline.source_topic)
            except AnabranchError as error:
                if running.view.state == "running":
                    self._see(running, state="waiting", note=error.fact)
                continue
            if running.view.state == "waiting" and running.query is not None:
                self._see(running, state="running", note="")
            self._see(running, lag=_lag(running))

    def _failure(self, running: _Running, cause: str, error: str) -> Failed:
        name, log = running.run.pipeline.name, f"the whole story: {self._log_file}"
        if cause == "data lost":
            return Failed(
                f"{name} stopped, and nothing was skipped: Kafka no longer has what the next batch needs. {summary_of(error)}",
                log,
            )
        return Failed(
            f"{name} failed: {summary_of(error)}", log, f"anabranch run {name}   goes on from its last committed batch"
        )

    def _see(self, running: _Running, **changes: Any) -> None:
        running.view = replace(running.view, **changes)


def _lag(running: _Running) -> int | None:
    if not running.reach:
        return None
    return sum(lag_of(held, running.read.get(partition)) for partition, held in running.reach.items())


def _end_offsets(progress: dict[str, Any], topic: str) -> Mapping[int, int] | None:
    """Where the batch ended: the first source of each of our queries is its topic."""
    end = progress["sources"][0]["endOffset"] if progress["sources"] else None
    return (parse_kafka_offsets(json.dumps(end)) or {}).get(topic)


def _batch_record(progress: dict[str, Any]) -> BatchRecord:
    counted = progress.get("observedMetrics", {}).get(COUNTED, {})
    return BatchRecord(
        batch=progress["batchId"],
        at=progress["timestamp"],
        records=counted.get("records", progress["numInputRows"]),
        problems=counted.get("problems", 0),
        rows_per_s=round(progress.get("processedRowsPerSecond", 0.0), 1),
        watermark=progress.get("eventTime", {}).get("watermark"),
    )


class _Listener(StreamingQueryListener):
    """Hands Spark's events over to the run's own queue; they come on a thread of Spark's."""

    def __init__(self, events: SimpleQueue[Event]) -> None:
        self._events = events

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        pass

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        self._events.put(Progressed(str(event.progress.id), json.loads(event.progress.json)))

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        pass

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        self._events.put(Ended(str(event.runId), event.exception))
