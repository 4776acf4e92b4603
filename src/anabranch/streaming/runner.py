"""Runs pipelines in one Spark application until they are stopped, or have caught up.

It waits for events: a batch that ended, a query that ended, a request to stop. Between them, once in a tick, it polls what
sends no events: Kafka's end offsets, a cluster's executors, and stop requests from other terminals.
"""

from __future__ import annotations

from collections.abc import Sequence
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any, Protocol

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from anabranch.checkpoint.figures import jump_of
from anabranch.checkpoint.history import BatchRecord, entry_below, newest_first
from anabranch.errors import AnabranchError, Reason
from anabranch.kafka.admin import KafkaAdmin
from anabranch.pipeline.sinks import Out
from anabranch.streaming import messages
from anabranch.streaming.batch_gate import BatchGate
from anabranch.streaming.blame import failure_of, is_of_query
from anabranch.streaming.cluster_watch import ClusterWatch
from anabranch.streaming.failures import TRANSIENT, Cause, cause_of, is_transient
from anabranch.streaming.query import end_after_batch, has_ended, start_query
from anabranch.streaming.query_events import Ended, Event, EventListener, Progressed, StopAll
from anabranch.streaming.recording import begin_recording, has_run, missed_progress, record_batch
from anabranch.streaming.run_progress import RunProgress
from anabranch.streaming.running import PipelineRun, Running
from anabranch.streaming.stop import is_stop_asked, withdraw_stop
from anabranch.streaming.watermark_guard import WatermarkGuard

TICK_S = 0.25
POLL_S = 2.0
# A query that ended because Kafka was unreachable is restarted after 1, 2, 4 ... 30 s.
BACKOFF_S = (1.0, 30.0)
# Spark's listener bus may drop an event. A query that has ended is believed without it after this long: until then the
# events of its last batches may still come.
EVENT_LOST_S = 5.0
# A query that asks Kafka for its offsets so long after a stop was asked for waits for a Kafka that is away.
KAFKA_SILENT_S = 3.0


class RunOutput(Protocol):
    def tell(self, reason: Reason) -> None: ...
    def out(self, lines: str) -> None: ...
    def show(self, progress: Sequence[RunProgress]) -> None: ...


class Runner:
    def __init__(
        self, spark: SparkSession, runs: Sequence[PipelineRun], admin: KafkaAdmin, output: RunOutput, log_file: str
    ) -> None:
        self._spark, self._admin, self._output, self._log_file = spark, admin, output, log_file
        self._out: Out = output.out
        self._running = [self._new(run) for run in runs]
        self._events: SimpleQueue[Event] = SimpleQueue()
        self._polled_at_s = 0.0
        self._stopping = False
        self._listener = EventListener(self._events)
        self._cluster = ClusterWatch(spark)

    @property
    def is_stopping(self) -> bool:
        return self._stopping

    @property
    def is_over(self) -> bool:
        return all(running.ended for running in self._running)

    def stop_all(self) -> None:
        """Safe to be called from a signal handler."""
        self._stopping = True
        self._events.put(StopAll())

    def run(self) -> None:
        """Returns when all pipelines have ended; raises what ended one that was not stopped."""
        self._spark.streams.addListener(self._listener)
        for running in self._running:
            self._start(running)
        while not self.is_over:
            self._await_event()
            for running in self._running:
                self._tick(running)
            self._poll()
            self._output.show([running.progress for running in self._running])
        self._spark.streams.removeListener(self._listener)
        for running in self._running:
            if running.error is not None:
                raise running.error

    def _new(self, run: PipelineRun) -> Running:
        pipeline = run.query.pipeline
        guard = WatermarkGuard(pipeline, run.location.storage(), allows_first=run.allows_jump)

        def end_query() -> None:
            if running.query is not None:
                end_after_batch(self._spark, running.query)

        running = Running(run, RunProgress(pipeline.name), BatchGate(end_query, guard), guard)
        return running

    def _start(self, running: Running) -> None:
        running.retry_at_s = running.inactive_since_s = None
        begin_recording(running)
        try:
            running.query = start_query(self._spark, running.run.query, self._out, running.gate)
        except Exception as error:
            if not is_of_query(running.run.query.pipeline, error):
                raise
            # Read now: once the JVM is gone, its exceptions have no words.
            self._fail(running, self._failure(running, cause_of(str(error)), error))
        else:
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

    def _progressed(self, running: Running, progress: dict[str, Any]) -> None:
        if not has_run(progress) or progress["batchId"] <= running.recorded:
            return
        self._catch_up(running, below=progress["batchId"])
        self._record(running, progress)

    def _record(self, running: Running, progress: dict[str, Any]) -> None:
        record, jump = record_batch(running, progress, was_retried=self._cluster.was_retried(running.name))
        self._show_batch(running, record)
        if jump is not None:
            about = jump_of(jump)
            running.update(jump=about.in_short())
            self._output.tell(messages.JUMPED(pipeline=running.name, jump=about.describe()))

    def _catch_up(self, running: Running, below: int) -> None:
        for progress in missed_progress(running, below):
            self._record(running, progress)

    def _show_batch(self, running: Running, record: BatchRecord) -> None:
        so_far = running.progress
        running.update(
            batch=record.batch,
            rows=so_far.rows + (record.records or 0),
            problems=so_far.problems + (record.problems or 0),
            late=so_far.late + (record.late or 0),
            late_is_exact=so_far.late_is_exact and record.is_exact,
            rows_per_s=record.rows_per_s or 0.0,
            watermark=record.watermark,
            lag=running.lag,
        )

    def _query_ended(self, running: Running, error: str | None) -> None:
        self._catch_up(running, below=running.next_batch())
        running.query = None
        cause = "stopped" if error is None else cause_of(error)
        if is_transient(cause, running.failures) and not running.gate.is_closing:
            running.retry_at_s = monotonic() + min(BACKOFF_S[0] * 2**running.failures, BACKOFF_S[1])
            running.failures += 1
            running.update(state="waiting", note=TRANSIENT[cause]().text)
            return
        if cause not in ("stopped", "output closed") and not (running.gate.is_closing and cause in TRANSIENT):
            self._fail(running, self._failure(running, cause, error or ""))
            return
        running.end()
        running.update(state="stopped", note="")
        if cause == "output closed":
            # Of all pipelines: their prints have one reader. The batch is not committed, it prints at the next start.
            self.stop_all()

    def _fail(self, running: Running, error: AnabranchError) -> None:
        """The others go on; the first error is raised when all have ended."""
        running.error = error
        running.end()
        running.update(state="failed", note="")
        if len(self._running) > 1:
            self._output.tell(error.reason)

    def _tick(self, running: Running) -> None:
        self._notice_end(running)
        if running.ended:
            return
        running.run.renew()
        if not running.gate.is_closing and is_stop_asked(running.run.location):
            self._close(running)
        if running.gate.is_closing and running.query is None:
            running.end()
            running.update(state="stopped", note="")
        elif running.gate.is_closing and running.query is not None:
            self._stop_without_batch(running, running.query)
        elif running.retry_at_s is not None and monotonic() >= running.retry_at_s:
            self._start(running)

    def _notice_end(self, running: Running) -> None:
        """The end of a query whose event was lost: without it the run would wait for ever."""
        query = running.query
        if query is None or not has_ended(query):
            return
        if running.inactive_since_s is None:
            running.inactive_since_s = monotonic()
        elif monotonic() - running.inactive_since_s >= EVENT_LOST_S:
            error = query.exception()
            self._query_ended(running, None if error is None else str(error))

    def _close(self, running: Running) -> None:
        if not running.gate.is_closing:
            running.closed_at_s = monotonic()
        running.gate.close()
        withdraw_stop(running.run.location)
        if not running.ended:
            running.update(state="stopping", note=messages.STOPS_AFTER_BATCH().text)

    def _stop_without_batch(self, running: Running, query: StreamingQuery) -> None:
        """A query with a batch ends by itself behind it (batch_gate.py); one without would wait for its next."""
        if not self._has_no_batch(running, query.status) or not running.gate.is_quiet(running.newest_commit()):
            return
        running.gate.shut()
        # Looked at again: what came in before it was shut has to be committed.
        if running.gate.is_quiet(running.newest_commit()):
            query.stop()

    def _has_no_batch(self, running: Running, status: dict[str, Any]) -> bool:
        """Between two batches a busy query looks idle for a moment, too short to see it twice."""
        now_s = monotonic()
        if not status["isTriggerActive"]:
            running.idle_since_s = running.idle_since_s or now_s
            return not status["isDataAvailable"] or now_s - running.idle_since_s >= TICK_S
        running.idle_since_s = None
        return now_s - running.closed_at_s >= KAFKA_SILENT_S and status["message"].startswith("Getting offsets")

    def _poll(self) -> None:
        if monotonic() - self._polled_at_s < POLL_S:
            return
        self._polled_at_s = monotonic()
        lacks_executors = self._cluster.lacks_executors()
        for running in self._running:
            if running.ended:
                continue
            try:
                running.retained = {topic: self._admin.offset_ranges(topic) for topic in running.topics}
            except AnabranchError as error:
                if running.progress.state == "running":
                    running.update(state="waiting", note=error.text)
                continue
            if lacks_executors:
                state = "stopping" if running.gate.is_closing else "waiting"
                running.update(state=state, note=messages.WAITS_FOR_EXECUTORS().text)
            elif running.progress.state == "waiting" and running.query is not None:
                running.update(state="running", note="")
            running.update(lag=running.lag)

    def _failure(self, running: Running, cause: Cause, error: Exception | str) -> AnabranchError:
        below = entry_below(newest_first(running.run.location), running.recorded + 1)
        if (stopped := running.guard.refusal(running.run.query.pipeline, running.run.called, below)) is not None:
            return stopped
        return failure_of(running.run.query.pipeline, cause, error, self._log_file)
