"""A pipeline's facts: what it reads, where it sends, how often and how much. What it computes is in `pipelines/`.

Kept apart from the transformation so that listing, inspecting and rewinding a pipeline need no Spark.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import assert_never

from anabranch.core.errors import Misused
from anabranch.core.nearest import did_you_mean


@dataclass(frozen=True)
class Console:
    """Results are shown on stdout."""


@dataclass(frozen=True)
class Topic:
    """Results are records of a Kafka topic."""

    name: str


@dataclass(frozen=True)
class Table:
    """Results are rows of a Delta table."""

    path: str


Sink = Console | Topic | Table


def sink_name(sink: Sink) -> str:
    """The sink in one word, fit for a directory: each pair of pipeline and sink has a checkpoint of its own."""
    match sink:
        case Console():
            return "console"
        case Topic(name):
            return f"topic-{name}"
        case Table(path):
            return "table-" + path.strip("/").replace("/", "-")
        case _:
            assert_never(sink)


@dataclass(frozen=True)
class Pipeline:
    """Defaults are those of the seeds; the project's file and the command line change them (`changed`)."""

    name: str
    summary: str
    source_topic: str
    sink: Sink
    # None: the next batch as soon as there is data.
    trigger_s: float | None = None
    # None: a batch takes all there is.
    max_offsets: int | None = None
    # How far an event may lie after its record's own Kafka timestamp. None: no guard.
    future_tolerance_s: float | None = 3600

    @property
    def module(self) -> str:
        """Where the transformation is; only a run imports it."""
        return f"anabranch.pipelines.{self.name.replace('-', '_')}"

    def changed(self, **changes: object) -> Pipeline:
        """A copy with those of the changes that are not None."""
        return replace(self, **{name: value for name, value in changes.items() if value is not None})  # type: ignore[arg-type]


VISITS_LOG = Pipeline(
    name="visits-log",
    summary="prints each visit with the partition of the task that read it",
    source_topic="visits",
    sink=Console(),
    trigger_s=20,
    max_offsets=10,
)

PIPELINES = (VISITS_LOG,)


def find_pipeline(name: str) -> Pipeline:
    for pipeline in PIPELINES:
        if pipeline.name == name:
            return pipeline
    names = [pipeline.name for pipeline in PIPELINES]
    raise Misused(f"there is no pipeline {name!r}.", did_you_mean(name, names), "anabranch pipelines lists them")
