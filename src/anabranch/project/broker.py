"""The embedded broker of a project."""

from __future__ import annotations

from anabranch.kafka.admin import ANSWER_TIMEOUT_S, answers
from anabranch.kafka.embedded.broker import RunningBroker, find_broker, start_broker, stop_broker
from anabranch.project.project import Project
from anabranch.project.session import Busy
from anabranch.spark.jars import ensure_jars


def start(project: Project, port: int | None, ui: Busy) -> tuple[RunningBroker, bool]:
    """The running broker, and whether this call started it."""
    with ui.counting("Fetching Kafka's jars") as count:
        jars = ensure_jars("broker", project.ivy_settings, count)
    wanted = project.settings.broker.port if port is None else port
    with ui.busy("Starting Kafka", f"its logs: {project.broker_dir / 'logs'}") as phase:
        return start_broker(project.broker_dir, wanted, jars, phase)


def stop(project: Project) -> RunningBroker | None:
    return stop_broker(project.broker_dir)


def find(project: Project) -> tuple[RunningBroker | None, bool]:
    """The broker whose process is alive, and whether it answers."""
    broker = find_broker(project.broker_dir)
    return broker, broker is not None and answers(broker.address, ANSWER_TIMEOUT_S)
