"""Which Kafka a project talks to: the one in its settings, or its own embedded broker, which is found by itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from anabranch.kafka.admin import KafkaAdmin
from anabranch.kafka.embedded.broker import find_broker
from anabranch.kafka.properties import PROBE, for_java, for_python
from anabranch.kafka.records import GroupProducer, Received, read_records
from anabranch.project import messages
from anabranch.project.project import Project

__all__ = ["Cluster", "KafkaAdmin", "Received", "admin_of", "cluster_of", "producer_for", "read_topic"]


@dataclass(frozen=True)
class Cluster:
    """The same cluster, as each client's properties name it."""

    address: str
    # Not in a repr: they may hold passwords.
    for_python: dict[str, str] = field(repr=False)
    for_java: dict[str, str] = field(repr=False)


def cluster_of(project: Project) -> Cluster:
    settings = project.settings.kafka
    address = settings.bootstrap_servers
    if address is None:
        broker = find_broker(project.broker_dir)
        if broker is None:
            raise messages.NO_KAFKA(directory=str(project.directory))
        address = broker.address
    bootstrap = {"bootstrap.servers": address}
    properties = _anchored(settings.properties, project.directory)
    return Cluster(address, for_python(properties) | bootstrap, for_java(properties, _read_text) | bootstrap)


def admin_of(project: Project) -> KafkaAdmin:
    return KafkaAdmin(cluster_of(project).for_python)


def producer_for(admin: KafkaAdmin, topic: str) -> GroupProducer:
    return GroupProducer(admin.properties, topic)


def read_topic(admin: KafkaAdmin, topic: str, *, follow: bool) -> Iterator[Received]:
    return read_records(admin, topic, follow=follow)


def _anchored(properties: Mapping[str, str], directory: Path) -> dict[str, str]:
    """A file is named from the project's directory, wherever the command was typed: neither client knows of -C."""
    return {
        name: str(directory / value) if name.endswith((".location", ".keytab", ".file")) and value != PROBE else value
        for name, value in properties.items()
    }


def _read_text(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8")
    except OSError as error:
        raise messages.KEY_FILE_UNREADABLE(file=file, reason=error.strerror) from None
    except UnicodeDecodeError:
        raise messages.KEY_FILE_NOT_PEM(file=file) from None
