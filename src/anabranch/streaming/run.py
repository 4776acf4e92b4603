"""From names to running queries: look at Kafka, take the leases, start Spark, run, and leave everything as it should be."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Protocol

from anabranch.checkpoint.lease import Lease, take_lease
from anabranch.checkpoint.log_reader import Checkpoint
from anabranch.kafka.admin import Topics
from anabranch.pipeline.definition import Pipeline
from anabranch.project.cluster import Kafka, kafka_of
from anabranch.project.project import Project
from anabranch.project.session import Waiting, new_log_file, open_session
from anabranch.spark.session import Session, shuffle_partitions
from anabranch.streaming.preflight import check_start, create_result_topic
from anabranch.streaming.run_progress import RunProgress
from anabranch.streaming.stop import withdraw_stop

if TYPE_CHECKING:
    from anabranch.streaming.runner import Runner
    from anabranch.streaming.source import Start


class Interrupted(BaseException):
    """A second Ctrl-C: now, not after the batch."""


class Face(Waiting, Protocol):
    """What a run needs of whoever shows it."""

    def say(self, text: str) -> None: ...
    def out(self, lines: str) -> None: ...
    def show(self, views: Sequence[RunProgress]) -> None: ...


@dataclass(frozen=True)
class Request:
    pipelines: Sequence[Pipeline]
    start: Start
    until_caught_up: bool
    spark_settings: Mapping[str, str]
    debug: bool


def run_pipelines(project: Project, request: Request, face: Face) -> None:
    kafka = kafka_of(project)
    topics = Topics(kafka.for_python)
    log_file = new_log_file(project, "run")
    with ExitStack() as stack:
        leases = []
        for pipeline in request.pipelines:
            checkpoint = project.checkpoint(pipeline)
            lease = take_lease(checkpoint, pipeline.name, "run")
            stack.callback(lease.release)
            leases.append(lease)
            withdraw_stop(checkpoint)
            check_start(pipeline, checkpoint, topics, shuffle_partitions(project.settings.spark, request.spark_settings))
            if (created := create_result_topic(pipeline, topics)) is not None:
                face.say(f"{pipeline.name}: created topic {created.name} with {created.partitions} partitions.")
            face.say(_where_it_starts(pipeline, checkpoint, request))
            if lease.taken_over:
                face.say(f"{pipeline.name}: took over from a process that died ({lease.taken_over.describe()}).")
        session = open_session(project, face, log_file, changes=request.spark_settings, debug=request.debug)
        for lease in leases:
            lease.name_jvm(session.jvm.pid)
        runner = _runner(session, project, request, kafka, topics, face, log_file, leases)
        _run(session, runner)


def _where_it_starts(pipeline: Pipeline, checkpoint: Path, request: Request) -> str:
    planned = Checkpoint(checkpoint).planned_batches()
    if not planned:
        where = "beginning" if request.start == "earliest" else "end"
        return f"{pipeline.name}: first start, from the {where} of {pipeline.source_topic}."
    committed = Checkpoint(checkpoint).committed_batches()
    if planned[-1] in committed:
        return f"{pipeline.name}: goes on after batch {planned[-1]}."
    return f"{pipeline.name}: batch {planned[-1]} was planned and not finished, it runs with the same range."


def _runner(
    session: Session,
    project: Project,
    request: Request,
    kafka: Kafka,
    topics: Topics,
    face: Face,
    log_file: Path,
    leases: Sequence[Lease],
) -> Runner:
    from anabranch.streaming.query import Run
    from anabranch.streaming.runner import Runner

    zone = project.settings.timezone
    runs = [
        Run(pipeline, project.checkpoint(pipeline), kafka.for_java, zone, request.start, request.until_caught_up)
        for pipeline in request.pipelines
    ]
    released = [lease.release for lease in leases]
    return Runner(session.spark, list(zip(runs, released, strict=True)), topics, face.out, face.show, str(log_file))


def _run(session: Session, runner: Runner) -> None:
    # Set after the session has started: PySpark's own handler cancels all jobs, and so kills the batch under way.
    _handle_signals(runner)
    try:
        runner.run()
    except BaseException as error:
        # Killed, not ended, whatever happened: it must write nothing more once the leases are free.
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
