"""A pipeline's facts: what it reads, where it sends, how often and how much. What it computes is in `pipelines/`.

Kept apart from the transformation so that listing, inspecting and rewinding a pipeline need no Spark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, assert_never

from anabranch.errors import Misused
from anabranch.text.suggest import did_you_mean


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
            return "table-" + path.strip("./").replace("/", "-")
        case _:
            assert_never(sink)


def sink_words(sink: Sink) -> str:
    """The sink as `--to` would name it."""
    match sink:
        case Console():
            return "console"
        case Topic(name):
            return f"topic {name}"
        case Table(path):
            return f"table {path}"
        case _:
            assert_never(sink)


OutputMode = Literal["append", "update"]


@dataclass(frozen=True)
class Pipeline:
    """Defaults are those of the seeds; the project's file and the command line change them (`changed`)."""

    name: str
    summary: str
    source_topic: str
    sink: Sink
    # Where `--to topic` sends without a name.
    result_topic: str
    output_mode: OutputMode = "append"
    # None: the next batch as soon as there is data.
    trigger_s: float | None = None
    # None: a batch takes all there is.
    max_offsets: int | None = None
    # How far an event may lie after its record's own Kafka timestamp. None: no guard.
    future_tolerance_s: float | None = 3600
    window_s: float | None = None
    watermark_s: float | None = None
    # The columns by which results are grouped: they are a result's key.
    grouping: tuple[str, ...] = ()
    # The transformation runs on each batch by itself: nothing is kept from one to the next.
    per_batch: bool = False
    # It takes every record, also those with a problem, which go nowhere else.
    takes_problems: bool = False

    @property
    def module(self) -> str:
        """Where the transformation is; only a run imports it."""
        return f"anabranch.pipeline.builtin.{self.name.replace('-', '_')}"

    @property
    def is_recomputable(self) -> bool:
        """Whether a window's result follows from the visits in it alone: not where the cut into batches matters."""
        return self.window_s is not None and not self.per_batch

    def changed(self, **changes: object) -> Pipeline:
        """A copy with those of the changes that are not None."""
        return replace(self, **{name: value for name, value in changes.items() if value is not None})  # type: ignore[arg-type]


VISITS_LOG = Pipeline(
    name="visits-log",
    summary="prints each visit with the partition of the task that read it",
    source_topic="visits",
    sink=Console(),
    result_topic="visits_log",
    trigger_s=20,
    max_offsets=10,
)
VISITS_WINDOWS = Pipeline(
    name="visits-windows",
    summary="counts visits by 10-minute window",
    source_topic="visits",
    sink=Console(),
    result_topic="visits_windows",
    output_mode="update",
    window_s=600,
    watermark_s=1200,
    grouping=("window",),
)
VISITS_LAKE = Pipeline(
    name="visits-lake",
    summary="copies every raw record to the lake, by year, month, day and hour of event time",
    source_topic="visits",
    sink=Table(".anabranch/lake/visits"),
    result_topic="visits_lake",
    takes_problems=True,
)
VISITS_COUNTER = Pipeline(
    name="visits-counter",
    summary="counts visits by 10-minute window, closed windows only",
    source_topic="visits",
    sink=Topic("visits_counter"),
    result_topic="visits_counter",
    window_s=600,
    watermark_s=600,
    grouping=("window",),
)
VISITS_SESSIONS = Pipeline(
    name="visits-sessions",
    summary="pages so far for each visit, and once more when it is finished",
    source_topic="visits",
    sink=Console(),
    result_topic="visits_sessions",
    output_mode="update",
    watermark_s=900,
    # The seed closes all visits with an event dated far ahead.
    future_tolerance_s=None,
    grouping=("visit_id",),
)
BROWSERS_STATELESS = Pipeline(
    name="browsers-stateless",
    summary="counts by 5-minute window and browser within each batch, with the last event time",
    source_topic="visits",
    sink=Topic("browser-stats-stateless"),
    result_topic="browser-stats-stateless",
    trigger_s=15,
    window_s=300,
    grouping=("window", "browser"),
    per_batch=True,
)
BROWSERS_STATEFUL = Pipeline(
    name="browsers-stateful",
    summary="the same, over all batches",
    source_topic="visits",
    sink=Topic("browser-stats-stateful"),
    result_topic="browser-stats-stateful",
    output_mode="update",
    trigger_s=15,
    window_s=300,
    watermark_s=1200,
    grouping=("window", "browser"),
)

PIPELINES = (
    VISITS_LOG,
    VISITS_WINDOWS,
    VISITS_LAKE,
    VISITS_COUNTER,
    VISITS_SESSIONS,
    BROWSERS_STATELESS,
    BROWSERS_STATEFUL,
)


def find_pipeline(name: str) -> Pipeline:
    for pipeline in PIPELINES:
        if pipeline.name == name:
            return pipeline
    names = [pipeline.name for pipeline in PIPELINES]
    raise Misused(f"there is no pipeline {name!r}.", did_you_mean(name, names), "anabranch pipelines lists them")


def split_target(names: Sequence[str], to: str | None) -> tuple[list[str], str | None]:
    """`visits-counter --to topic NAME`: the word behind the pipelines that is none of them is the target's name."""
    known = {pipeline.name for pipeline in PIPELINES}
    if to in ("topic", "table") and len(names) > 1 and names[-1] not in known:
        return list(names[:-1]), names[-1]
    return list(names), None


def sink_for(pipeline: Pipeline, to: str | None, target: str | None) -> Sink | None:
    """The sink that `--to` asks for; None where it asks for nothing."""
    match to:
        case None:
            return None
        case "console":
            return Console()
        case "topic":
            return Topic(target or pipeline.result_topic)
        case "table" if target is None:
            raise Misused("--to table needs a path.", f"anabranch run {pipeline.name} --to table PATH")
        case "table" if pipeline.output_mode != "append" or pipeline.per_batch:
            raise Misused(
                f"{pipeline.name} changes results that it has given already, which a table only adds to.",
                f"anabranch run {pipeline.name} --to topic NAME",
            )
        case "table":
            return Table(str(target))
        case _:
            raise Misused(f"results cannot be sent to {to!r}.", did_you_mean(to, ["console", "topic", "table"]))
