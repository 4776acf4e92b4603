"""Which Kafka a project talks to: the one in its settings, or its own embedded broker, which is found by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from anabranch.errors import Failed, Misused
from anabranch.kafka.admin import Topics
from anabranch.kafka.embedded.broker import find_broker
from anabranch.kafka.properties import PROBE, for_java, for_python
from anabranch.project.project import Project


@dataclass(frozen=True)
class Kafka:
    """The same cluster, in the words of each client."""

    address: str
    # Not in a repr: they may hold passwords.
    for_python: dict[str, str] = field(repr=False)
    for_java: dict[str, str] = field(repr=False)


def kafka_of(project: Project) -> Kafka:
    settings = project.settings.kafka
    address = settings.bootstrap_servers
    if address is None:
        broker = find_broker(project.broker_dir)
        if broker is None:
            raise Failed(
                f"no Kafka: the broker of {project.directory} does not run, and kafka.bootstrap_servers is not set.",
                "anabranch broker start",
                "or set kafka.bootstrap_servers in anabranch.toml to yours",
            )
        address = broker.address
    bootstrap = {"bootstrap.servers": address}
    properties = _anchored(settings.properties, project.directory)
    return Kafka(address, for_python(properties) | bootstrap, for_java(properties, _read_text) | bootstrap)


def topics_of(project: Project) -> Topics:
    return Topics(kafka_of(project).for_python)


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
        raise Misused(f"kafka.properties names {file}, which cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise Misused(f"kafka.properties names {file}, which is not PEM.", "export it as PEM") from None
