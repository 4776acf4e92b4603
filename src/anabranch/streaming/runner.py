"""Runs pipelines in one Spark application until they are stopped, or have caught up.

It waits for events: a batch that ended, a query that ended, a request to stop. Between them, once in a tick, it polls what
sends no events: Kafka's end offsets, and stop requests from other terminals.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any, Protocol

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from anabranch.checkpoint.history import BatchRecord, append_batch
from anabranch.checkpoint.layout import OffsetRange, parse_kafka_offsets
from anabranch.checkpoint.reader import read_logs
from anabranch.checkpoint.restartable import lag_of
from anabranch.errors import AnabranchError, Failed
from anabranch.kafka.admin import KafkaAdmin
from anabranch.pipeline.definition import Out
from anabranch.storage.files import CheckpointLocation
from anabranch.streaming import messages
from anabranch.streaming.batch_gate import BatchGate
from anabranch.streaming.failures import Cause, cause_of
from anabranch.streaming.query import start_query
from anabranch.streaming.query_events import Ended, Event, EventListener, Progressed, StopAll
from anabranch.streaming.run_progress import RunProgress
from anabranch.streaming.sinks import policy_of
from anabranch.streaming.sinks.base import QueryRun, Stopping
from anabranch.streaming.stop import is_stop_asked, withdraw_stop
from anabranch.streaming.transforms import COUNTED
from anabranch.text.exceptions import summary_of

TICK_S = 0.25
POLL_KAFKA_S = 2.0
# A query that ended because Kafka was unreachable is restarted after 1, 2, 4 ... 30 s.
BACKOFF_S = (1.0, 30.0)
# Spark's listener bus may drop an event. A query that has ended is believed without it after this long: until then the
# events of its last batches may still come.
EVENT_LOST_S = 5.0
_FAILURES = {
    "data lost": messages.DATA_LOST,
    "out of memory": messages.OUT_OF_MEMORY,
    "no permission": messages.QUERY_FORBIDDEN,
}


class RunOutput(Protocol):
    def out(self, lines: str) -> None: ...
    def show(self, progress: Sequence[RunProgress]) -> None: ...


@dataclass(frozen=True)
class PipelineRun:
    query: QueryRun
    location: CheckpointLocation
    # Called once, when its query has ended for good: others may run the pipeline from then on.
    release: Callable[[], None]
    # Called in every tick until then: keeps its lease, and raises where the checkpoint is no longer its own.
    renew: Callable[[], None]


@dataclass
class _Running:
    """One pipeline of the run, from start to end, over restarts."""

    run: PipelineRun
    progress: RunProgress
    gate: BatchGate = field(default_factory=BatchGate)
    query: StreamingQuery | None = None
    retained: dict[int, OffsetRange] = field(default_factory=dict)
    read: Mapping[int, int] = field(default_factory=dict)
    newest_at_stop: int | None = None
    retry_at_s: float | None = None
    # Since when the query is known to have ended although no event said so.
    inactive_since_s: float | None = None
    failures: int = 0
    error: AnabranchError | None = None
    ended: bool = False

    @property
    def name(self) -> str:
        return self.run.query.pipeline.name

    @property
    def topic(self) -> str:
        return self.run.query.pipeline.source_topic

    def newest_commit(self) -> int | None:
        return read_logs(self.run.location.storage()).commits.newest

    def update(self, **changes: Any) -> None:
        self.progress = replace(self.progress, **changes)

    def end(self) -> None:
        self.ended = True
        self.run.release()


class Runner:
    def __init__(
        self, spark: SparkSession, runs: Sequence[PipelineRun], admin: KafkaAdmin, output: RunOutput, log_file: str
    ) -> None:
        self._spark, self._admin, self._output, self._log_file = spark, admin, output, log_file
        self._out: Out = output.out
        self._running = [_Running(run, RunProgress(run.query.pipeline.name)) for run in runs]
        self._events: SimpleQueue[Event] = SimpleQueue()
        self._polled_at_s = 0.0
        self._stopping = False
        self._listener = EventListener(self._events)

    @property
    def is_stopping(self) -> bool:
        return self._stopping

    def stop_all(self) -> None:
        """Safe to be called from a signal handler."""
        self._stopping = True
        self._events.put(StopAll())

    def run(self) -> None:
        """Returns when all pipelines have ended; raises what ended one that was not stopped."""
        self._spark.streams.addListener(self._listener)
        for running in self._running:
            self._start(running)
        while not all(running.ended for running in self._running):
            self._await_event()
            for running in self._running:
                self._tick(running)
            self._poll_kafka()
            self._output.show([running.progress for running in self._running])
        for running in self._running:
            if running.error is not None:
                raise running.error

    def _start(self, running: _Running) -> None:
        running.retry_at_s = running.inactive_since_s = None
        checkpoint = read_logs(running.run.location.storage())
        running.read = checkpoint.start_of(checkpoint.next_batch).get(running.topic, {})
        try:
            running.query = start_query(self._spark, running.run.query, self._out, running.gate)
        except (Py4JError, PySparkException) as error:
            # Read now: once the JVM is gone, its exceptions have no words.
            raise self._failure(running, cause_of(str(error)), str(error)) from None
        running.update(state="running", note="")

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
        running.read = _end_offsets(progress, running.topic) or running.read
        append_batch(running.run.location, record)
        watermark = record.watermark if record.watermark and not record.watermark.startswith("1970-01-01T00:00:00") else None
        running.update(
            batch=record.batch,
            rows=running.progress.rows + record.records,
            problems=running.progress.problems + record.problems,
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
            running.update(state="waiting", note=messages.WAITS_FOR_KAFKA().text)
            return
        running.end()
        if cause != "stopped" and not (running.gate.is_closed and cause == "kafka away"):
            running.error = self._failure(running, cause, error or "")
        running.update(state="failed" if running.error else "stopped", note="")

    def _tick(self, running: _Running) -> None:
        self._notice_end(running)
        if running.ended:
            return
        running.run.renew()
        if not running.gate.is_closed and is_stop_asked(running.run.location):
            self._close(running)
        if running.gate.is_closed and running.query is None:
            running.end()
            running.update(state="stopped", note="")
        elif running.gate.is_closed and running.query is not None and self._can_stop(running, running.query):
            running.query.stop()
        elif running.retry_at_s is not None and monotonic() >= running.retry_at_s:
            self._start(running)

    def _notice_end(self, running: _Running) -> None:
        """The end of a query whose event was lost: without it the run would wait for ever."""
        query = running.query
        if query is None or query.isActive:
            return
        if running.inactive_since_s is None:
            running.inactive_since_s = monotonic()
        elif monotonic() - running.inactive_since_s >= EVENT_LOST_S:
            error = query.exception()
            self._query_ended(running, None if error is None else str(error))

    def _close(self, running: _Running) -> None:
        if not running.gate.is_closed:
            running.newest_at_stop = running.newest_commit()
        running.gate.close()
        withdraw_stop(running.run.location)
        if not running.ended:
            running.update(state="stopping", note=messages.STOPS_AFTER_BATCH().text)

    def _can_stop(self, running: _Running, query: StreamingQuery) -> bool:
        """By the checkpoint, not by the progress: an event can be late, a commit is a fact."""
        stopping = Stopping(running.gate, query, running.newest_at_stop, running.newest_commit())
        return policy_of(running.run.query.pipeline.sink).can_stop(stopping)

    def _poll_kafka(self) -> None:
        if monotonic() - self._polled_at_s < POLL_KAFKA_S:
            return
        self._polled_at_s = monotonic()
        for running in self._running:
            if running.ended:
                continue
            try:
                running.retained = self._admin.offset_ranges(running.topic)
            except AnabranchError as error:
                if running.progress.state == "running":
                    running.update(state="waiting", note=error.text)
                continue
            if running.progress.state == "waiting" and running.query is not None:
                running.update(state="running", note="")
            running.update(lag=_lag(running))

    def _failure(self, running: _Running, cause: Cause, error: str) -> Failed:
        failed = _FAILURES.get(cause, messages.QUERY_FAILED)
        return failed(pipeline=running.name, reason=summary_of(error), log=self._log_file)


def _lag(running: _Running) -> int | None:
    if not running.retained:
        return None
    return sum(lag_of(offsets, running.read.get(partition)) for partition, offsets in running.retained.items())


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
