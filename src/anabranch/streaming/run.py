"""From pipelines to running queries: check Kafka and the checkpoints, take the leases, start Spark, run, and clean up."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Protocol

from anabranch.errors import Reason
from anabranch.kafka.admin import KafkaAdmin
from anabranch.pipeline.definition import Pipeline
from anabranch.pipeline.sinks import Table
from anabranch.project.kafka import Cluster, cluster_of
from anabranch.project.project import Project
from anabranch.project.session import Busy, count_cluster_cores, new_log_file, open_session
from anabranch.spark.executors import SharedPath
from anabranch.spark.session import Session
from anabranch.storage.lease import Lease, take_lease
from anabranch.streaming import messages
from anabranch.streaming.preflight import CheckedStart, check_start, note_started, run_fingerprint
from anabranch.streaming.run_progress import RunProgress
from anabranch.streaming.sinks import policy_of
from anabranch.streaming.sinks.base import QueryRun, Start
from anabranch.streaming.stop import withdraw_stop

if TYPE_CHECKING:
    from anabranch.streaming.runner import Runner


class Interrupted(BaseException):
    """A second Ctrl-C: now, not after the batch."""


class RunUI(Busy, Protocol):
    """What a run needs of the UI that shows it."""

    def tell(self, reason: Reason) -> None: ...
    def out(self, lines: str) -> None: ...
    def show(self, progress: Sequence[RunProgress]) -> None: ...


@dataclass(frozen=True)
class RunRequest:
    pipelines: Sequence[Pipeline]
    start: Start
    until_caught_up: bool
    spark_settings: Mapping[str, str]
    debug: bool
    # The first batch of each may run under a watermark that has moved further than its pipeline allows.
    allows_watermark_jump: bool = False


def run_pipelines(project: Project, request: RunRequest, ui: RunUI) -> None:
    cluster = cluster_of(project)
    admin = KafkaAdmin(cluster.for_python)
    log_file = new_log_file(project, "run")
    count_cores = partial(count_cluster_cores, project, ui, log_file, request.spark_settings)
    with ExitStack() as stack:
        leases, starts = [], []
        for pipeline in request.pipelines:
            location = project.checkpoint(pipeline)
            lease = take_lease(location, pipeline.name, "run")
            stack.callback(lease.release)
            leases.append(lease)
            withdraw_stop(location)
            start = check_start(project, pipeline, admin, request.start, request.spark_settings, count_cores)
            starts.append(start)
            if (created := policy_of(pipeline.sink).prepare(pipeline, admin)) is not None:
                ui.tell(created)
            for reason in start.said:
                ui.tell(reason)
            if lease.taken_over:
                ui.tell(messages.TOOK_OVER(pipeline=pipeline.name, holder=lease.taken_over.describe()))
        shared = list(_shared_paths(project, request.pipelines))
        session = open_session(project, ui, log_file, changes=request.spark_settings, shared=shared, debug=request.debug)
        for lease in leases:
            lease.name_jvm(session.jvm.pid)
        runner = _runner(session, project, request, cluster, admin, ui, log_file, leases, starts)
        _run(session, runner, [pipeline.name for pipeline in request.pipelines])
        for pipeline in request.pipelines:
            note_started(project, pipeline)


def _shared_paths(project: Project, pipelines: Sequence[Pipeline]) -> Iterator[SharedPath]:
    """Executors write state and rows themselves."""
    for pipeline in pipelines:
        yield SharedPath(project.checkpoint(pipeline).path)
        if isinstance(pipeline.sink, Table):
            yield SharedPath(Path(pipeline.sink.path))


def _runner(
    session: Session,
    project: Project,
    request: RunRequest,
    cluster: Cluster,
    admin: KafkaAdmin,
    ui: RunUI,
    log_file: Path,
    leases: Sequence[Lease],
    starts: Sequence[CheckedStart],
) -> Runner:
    # It imports pyspark: a run that is refused needs none.
    from anabranch.streaming.runner import Runner
    from anabranch.streaming.running import PipelineRun

    runs = []
    for pipeline, lease, start in zip(request.pipelines, leases, starts, strict=True):
        location = project.checkpoint(pipeline)
        query = QueryRun(
            pipeline=pipeline,
            checkpoint=str(location),
            kafka=cluster.for_java,
            zone=project.settings.timezone,
            starts=start.starting_offsets,
            until_caught_up=request.until_caught_up,
        )
        code = run_fingerprint(pipeline, query.zone)
        allows_jump = request.allows_watermark_jump
        runs.append(PipelineRun(query, location, lease.release, lease.renew, start.called, allows_jump, code))
    return Runner(session.spark, runs, admin, ui, str(log_file))


def _run(session: Session, runner: Runner, names: Sequence[str]) -> None:
    # Set after the session has started: PySpark's own handler cancels all jobs, and so kills the batch under way.
    _handle_signals(runner)
    try:
        with session.jvm.blamed(messages.RUN_RESUMES(pipelines=names).text):
            runner.run()
    except BaseException as error:
        if runner.is_over:
            session.end()
        else:
            # Killed, not ended: it must write nothing more once the leases are free.
            session.jvm.kill()
        if isinstance(error, Interrupted):
            raise KeyboardInterrupt from None
        raise
    session.end()


def _handle_signals(runner: Runner) -> None:
    def stop(number: int, _frame: FrameType | None) -> None:
        if runner.is_stopping and number == signal.SIGINT:
            raise Interrupted
        runner.stop_all()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
