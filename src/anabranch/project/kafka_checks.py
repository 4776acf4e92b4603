"""The doctor's questions that need more than this machine: the broker's port, and Kafka itself."""

from __future__ import annotations

from anabranch.kafka.embedded.broker import embedded_version, find_broker, refuse_taken
from anabranch.project.cluster import topics_of
from anabranch.project.doctor import Finding, examine
from anabranch.project.project import Project


def examine_all(project: Project) -> list[Finding]:
    def port() -> Finding:
        if (broker := find_broker(project.broker_dir)) is not None:
            return Finding("port", "ok", f"{broker.port}: the broker of this project")
        if (wanted := project.settings.broker.port) != 0:
            refuse_taken(wanted)
        return Finding("port", "ok", f"{wanted} is free for the broker")

    def kafka() -> Finding:
        # A project without a broker yet is as it should be; an address in the settings that does not answer is not.
        if project.settings.kafka.bootstrap_servers is None and find_broker(project.broker_dir) is None:
            return Finding("kafka", "slow", "no broker runs for this project", "anabranch broker start")
        topics = topics_of(project)
        own = project.settings.kafka.bootstrap_servers is None
        version = f"Kafka {embedded_version()}" if own else topics.version()
        return Finding("kafka", "ok", f"{topics.address} answers, {version}, {len(topics.all())} topics")

    return examine(project, [port, kafka])
