"""A pipeline as a value: what it reads, what it computes, where it sends, how often and how much.

Kept free of Spark so that listing, inspecting and rewinding a pipeline need none: the transformation is a function that imports
pyspark when it is called.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from anabranch.pipeline import messages
from anabranch.text.format import parse_topic_name
from anabranch.text.suggest import did_you_mean

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# A file's name may have 255 bytes, of which a temporary file beside a checkpoint adds 58; and what fits beside a hash as well.
_MOST_NAME_BYTES, _MOST_HASHED_BYTES = 197, 180

OutputMode = Literal["append", "update"]
# What Spark's long holds.
MOST_OFFSETS = 2**63 - 1
# Takes whole lines, each with its end.
Out = Callable[[str], None]


@dataclass(frozen=True)
class Sink:
    """Where results go. A kind of sink is a subclass here, and a file in streaming/sinks with its policies."""

    kind: ClassVar[str] = ""
    kinds: ClassVar[dict[str, type[Sink]]] = {}
    # What `--to kind:...` names.
    target: ClassVar[str] = ""
    # Results that were emitted cannot be updated there.
    appends_only: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        Sink.kinds[cls.kind] = cls

    @classmethod
    def parse(cls, target: str, pipeline: Pipeline) -> Sink:
        """The sink behind `--to kind:target`."""
        del pipeline
        if target:
            raise messages.SINK_TAKES_NO_TARGET(kind=cls.kind, target=target)
        return cls()

    def describe(self) -> str:
        """As `--to` names it."""
        return self.kind

    def placed(self, directory: str) -> Sink:
        """With a path that is seen from the project's directory."""
        del directory
        return self

    def identity(self, directory: str) -> str:
        """As `--to` names it, seen from the project's directory: two sinks with the same one are the same."""
        del directory
        return self.describe()

    def directory_name(self, directory: str) -> str:
        """One word, fit for a directory, and no other sink's: each pair of pipeline and sink has a checkpoint of its own."""
        kind, _, target = self.identity(directory).partition(":")
        return f"{kind}-{_as_file_name(target)}" if target else kind


def _as_file_name(target: str) -> str:
    """The target itself, or as much of it as a file's name can hold, and then a hash of all of it."""
    readable = target.strip("./").replace("/", "-")
    if readable == target and len(target.encode()) <= _MOST_NAME_BYTES:
        return target
    short = readable.encode()[:_MOST_HASHED_BYTES].decode(errors="ignore")
    return f"{short}-{sha256(target.encode()).hexdigest()[:8]}"


@dataclass(frozen=True)
class Console(Sink):
    """Results are shown on stdout."""

    kind = "console"


@dataclass(frozen=True)
class Topic(Sink):
    """Results are records of a Kafka topic."""

    kind = "topic"
    target = "NAME"
    name: str

    @classmethod
    def parse(cls, target: str, pipeline: Pipeline) -> Sink:
        return cls(parse_topic_name(target) if target else pipeline.result_topic)

    def describe(self) -> str:
        return f"topic:{self.name}"


@dataclass(frozen=True)
class Table(Sink):
    """Results are rows of a Delta table."""

    kind = "table"
    target = "PATH"
    appends_only = True
    path: str

    @classmethod
    def parse(cls, target: str, pipeline: Pipeline) -> Sink:
        del pipeline
        if not target.strip():
            raise messages.SINK_NEEDS_TARGET(kind=cls.kind, target=cls.target)
        return cls(target)

    def describe(self) -> str:
        return f"table:{self.path}"

    def placed(self, directory: str) -> Sink:
        return Table(posixpath.join(directory, self.path))

    def identity(self, directory: str) -> str:
        """A table inside the project moves with it."""
        path = posixpath.normpath(posixpath.join(directory, self.path))
        inside = path.startswith(f"{directory.rstrip('/')}/")
        return f"table:{posixpath.relpath(path, directory) if inside else path}"

    def legacy_directory_name(self, directory: str) -> str:
        """As 0.2.0 named it: two paths could have one name."""
        return "table-" + posixpath.relpath(self.path, directory).strip("./").replace("/", "-")


@dataclass(frozen=True)
class Pipeline:
    """Defaults are those of the seeds; the project's file and the command line change them (`changed`)."""

    name: str
    summary: str
    source_topic: str
    sink: Sink
    # Where `--to topic` sends without a name.
    result_topic: str
    # The same for stream and batch. Its input is decoded, without records that have a problem, with the watermark applied, and
    # with a column `window` where a window is defined.
    transform: Callable[[DataFrame], DataFrame]
    output_mode: OutputMode = "append"
    # None: the next batch as soon as there is data.
    trigger_s: float | None = None
    # None: a batch takes all there is.
    max_offsets: int | None = None
    # How much later than its record's own Kafka timestamp an event may be. None: no guard.
    future_tolerance_s: float | None = 3600
    # Records that are left out, as a problem of their own: TOPIC:PARTITION:OFFSET.
    skip: tuple[str, ...] = ()
    window_s: float | None = None
    watermark_s: float | None = None
    # A watermark that would move further than this in one batch stops the query. None: no guard.
    watermark_jump_s: float | None = None
    # The columns by which results are grouped: they are a result's key.
    grouping: tuple[str, ...] = ()
    # The transformation runs on each batch by itself: nothing is kept from one to the next.
    per_batch: bool = False
    # It takes every record, also those with a problem, which go nowhere else.
    takes_problems: bool = False
    # The columns by which a table is partitioned.
    partition_by: tuple[str, ...] = ()
    # How a batch is printed on the console; None: as Spark's own table.
    print_batch: Callable[[DataFrame, Out], None] | None = None
    # Rows for people from a state value that holds many keys; None: the value is shown as it is.
    unpack_state: Callable[[Any], Iterable[Mapping[str, Any]]] | None = None

    @property
    def is_recomputable(self) -> bool:
        """Whether a window's result follows from the records in it alone: not where the cut into batches matters."""
        return self.window_s is not None and not self.per_batch

    def changed(self, **changes: object) -> Pipeline:
        """A copy with those of the changes that are not None."""
        return replace(self, **{name: value for name, value in changes.items() if value is not None})  # type: ignore[arg-type]

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
        """What is declared: everything but the functions."""
        declared = {field.name: getattr(self, field.name) for field in fields(self)}
        return {**{name: value for name, value in declared.items() if name not in _FUNCTIONS}, "sink": self.sink.describe()}


_FUNCTIONS = ("transform", "print_batch", "unpack_state")


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
