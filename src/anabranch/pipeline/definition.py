"""A pipeline as a value: what it reads, what it computes, where it sends, how often and how much.

Kept free of Spark so that listing, inspecting and rewinding a pipeline need none, and apart from its code: those commands know
a user's pipeline from what was kept of it, and work while its file is broken or gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal

from anabranch.pipeline import messages
from anabranch.pipeline.sinks import Sink, Table
from anabranch.pipeline.topic import Place, Topic
from anabranch.text.suggest import did_you_mean

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

OutputMode = Literal["append", "update"]
# What Spark's long holds.
MOST_OFFSETS = 2**63 - 1
# Rows for people from the keys and values of the state.
UnpackState = Callable[[Iterable[tuple[Any, Any]]], Iterable[Mapping[str, Any]]]


@dataclass(frozen=True)
class Code:
    """What a pipeline computes with."""

    # The same for stream and batch: one frame for each topic in, one out. Its input is decoded, without records that have a
    # problem, with the watermark applied, and with a column `window` where a window is defined.
    transform: Callable[..., DataFrame]
    # None: a state value is shown as it is.
    unpack_state: UnpackState | None = None


@dataclass(frozen=True)
class Pipeline:
    """Defaults are those of the declaration; the project's file and the command line change them (`changed`)."""

    name: str
    summary: str
    topics: tuple[Topic, ...]
    sink: Sink
    # Where `--to topic` sends without a name.
    result_topic: str
    output_mode: OutputMode = "append"
    # None: the next batch as soon as there is data.
    trigger_s: float | None = None
    # Of each topic. None: a batch takes all there is.
    max_offsets: int | None = None
    # How much later than its record's own Kafka timestamp an event may be. None: no guard.
    future_tolerance_s: float | None = 3600
    # Records that are left out, as a problem of their own: TOPIC:PARTITION:OFFSET.
    skip: tuple[str, ...] = ()
    window_s: float | None = None
    # A window begins so often. None: where the one before it ends.
    slide_s: float | None = None
    watermark_s: float | None = None
    # A watermark that would move further than this in one batch stops the query. None: no guard.
    watermark_jump_s: float | None = None
    # The columns by which results are grouped: they are a result's key.
    grouping: tuple[str, ...] = ()
    # The transformation runs on each batch by itself: nothing is kept from one to the next.
    per_batch: bool = False
    # It takes every record, also those with a problem, which go nowhere else.
    takes_problems: bool = False
    # By how much floats of two results may differ, relative to the greater one, and still be the same result.
    float_tolerance: float = 0.0
    # A window's result follows from the records in it alone.
    is_recomputable: bool = False
    place: Place | None = None
    # Of the files that its code is in, as they were read. None: they are ours.
    source_hash: str | None = None
    # None: it was not imported.
    code: Code | None = field(default=None, compare=False, repr=False)

    @property
    def topic(self) -> Topic:
        """The one that it reads; the first of several."""
        return self.topics[0]

    @property
    def topic_names(self) -> tuple[str, ...]:
        return tuple(topic.name for topic in self.topics)

    @property
    def loaded(self) -> Code:
        assert self.code is not None, f"the code of {self.name} was not imported"
        return self.code

    def changed(self, **changes: object) -> Pipeline:
        """A copy with those of the changes that are not None."""
        return replace(self, **{name: value for name, value in changes.items() if value is not None})  # type: ignore[arg-type]

    def reading(self, source: str | None) -> Pipeline:
        """A copy that reads another topic of the same kind of records."""
        if source is None:
            return self
        if len(self.topics) > 1:
            raise messages.SOURCE_NOT_SETTABLE(pipeline=self.name, topics=list(self.topic_names))
        return replace(self, topics=(replace(self.topic, name=source),))

    def table(self, path: str) -> Table:
        """A table at another path, partitioned as the pipeline's own."""
        return Table(path, self.sink.partition_by if isinstance(self.sink, Table) else ())

    def sent_to(self, to: str | None) -> Sink | None:
        """The sink that `--to` asks for; None where it asks for nothing."""
        if to is None:
            return None
        kind, _, target = to.partition(":")
        if kind not in Sink.kinds:
            raise messages.UNKNOWN_SINK(to=to, suggestion=did_you_mean(kind, Sink.kinds))
        sink = Sink.kinds[kind].parse(target, self)
        self.check_sink(sink)
        return sink

    def check_sink(self, sink: Sink) -> None:
        """Refuses one that cannot take this pipeline's results."""
        if sink.appends_only and (self.output_mode != "append" or self.per_batch):
            raise messages.SINK_APPENDS_ONLY(pipeline=self.name, kind=sink.kind)

    def as_json(self) -> dict[str, Any]:
        """What is declared: everything but the code."""
        declared = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in ("code", "source_hash")}
        place = self.place.describe() if self.place else None
        return {**declared, "topics": list(self.topic_names), "sink": self.sink.describe(), "place": place}


def find_pipeline(known: Sequence[Pipeline], name: str) -> Pipeline:
    for pipeline in known:
        if pipeline.name == name:
            return pipeline
    raise messages.UNKNOWN_PIPELINE(name=name, suggestion=_suggestion(known, name))


def find_pipelines(known: Sequence[Pipeline], names: Sequence[str], to: str | None) -> list[Pipeline]:
    """Each once. `--to topic NAME`, with a blank, is how 0.1.0 named a target: NAME must not become a topic by mistake."""
    known_names = {pipeline.name for pipeline in known}
    for name in names:
        if name not in known_names and to in Sink.kinds and Sink.kinds[to].target:
            raise messages.TARGET_AS_ARGUMENT(name=name, kind=to, suggestion=_suggestion(known, name))
    return [find_pipeline(known, name) for name in dict.fromkeys(names)]


def _suggestion(known: Sequence[Pipeline], name: str) -> str:
    return did_you_mean(name, [pipeline.name for pipeline in known])
