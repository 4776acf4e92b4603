"""Which Kafka a project talks to: the one in its settings, or its own embedded broker, which is found by itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from anabranch.broker.embedded import find_broker
from anabranch.core.errors import Failed, Misused
from anabranch.core.kafka_properties import for_java, for_python
from anabranch.setup.project import Project


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
    return Kafka(
        address,
        for_python(settings.properties) | bootstrap,
        for_java(settings.properties, lambda name: _read_text(project.directory / name)) | bootstrap,
    )


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise Misused(f"kafka.properties names {path}, which cannot be read: {error.strerror}.") from None
