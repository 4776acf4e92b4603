"""The Kafka of a project: the one in its settings, or its own embedded broker, which is found by itself.

Kafka's client takes a tenth of a second to load, so that is done where Kafka is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.errors import Reason
from anabranch.kafka.properties import PROBE, for_java, for_python
from anabranch.project import messages
from anabranch.project.project import Project

if TYPE_CHECKING:
    # A UI imports no adapter: it has these names from here.
    from anabranch.kafka.admin import KafkaAdmin as KafkaAdmin
    from anabranch.kafka.records import GroupProducer as GroupProducer
    from anabranch.kafka.records import Received as Received


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
        from anabranch.kafka.embedded.broker import find_broker

        broker = find_broker(project.broker_dir)
        if broker is None:
            raise messages.NO_KAFKA(directory=str(project.directory))
        address = broker.address
    bootstrap = {"bootstrap.servers": address}
    properties = _anchored(settings.properties, project.directory)
    return Cluster(address, for_python(properties) | bootstrap, for_java(properties, _read_text) | bootstrap)


def admin_of(project: Project) -> KafkaAdmin:
    from anabranch.kafka.admin import KafkaAdmin

    return KafkaAdmin(cluster_of(project).for_python)


def producer_for(admin: KafkaAdmin, topic: str) -> GroupProducer:
    from anabranch.kafka.records import GroupProducer

    return GroupProducer(admin.properties, topic)


def read_topic(admin: KafkaAdmin, topic: str) -> Iterator[Received]:
    from anabranch.kafka.records import read_records

    return read_records(admin, topic)


def follow_topic(admin: KafkaAdmin, topic: str, tell: Callable[[Reason], None]) -> Iterator[Received | None]:
    from anabranch.kafka.follow import follow_records

    return follow_records(admin, topic, tell)


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
