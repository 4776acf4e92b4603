"""Where results go, as values: what `--to` and the settings name. Pure; streaming/sinks knows how each is written."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, ClassVar

from anabranch.pipeline import messages
from anabranch.text.format import parse_topic_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from anabranch.pipeline.definition import Pipeline

# A file's name may have 255 bytes, of which a temporary file beside a checkpoint adds 58; and what fits beside a hash as well.
_MOST_NAME_BYTES, _MOST_HASHED_BYTES = 197, 180

# Takes whole lines, each with its end.
Out = Callable[[str], None]
# Prints one batch.
PrintBatch = Callable[["DataFrame", Out], None]


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
    # None: as Spark's own table. No part of what the sink is.
    print_batch: PrintBatch | None = field(default=None, compare=False, repr=False)

    @classmethod
    def parse(cls, target: str, pipeline: Pipeline) -> Sink:
        parsed = super().parse(target, pipeline)
        return pipeline.sink if parsed == pipeline.sink else parsed


@dataclass(frozen=True)
class Results(Sink):
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
    # The columns by which it is partitioned. No part of what the sink is: a table knows its own.
    partition_by: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def parse(cls, target: str, pipeline: Pipeline) -> Sink:
        if not target.strip():
            raise messages.SINK_NEEDS_TARGET(kind=cls.kind, target=cls.target)
        return pipeline.table(target)

    def describe(self) -> str:
        return f"table:{self.path}"

    def placed(self, directory: str) -> Sink:
        return Table(posixpath.join(directory, self.path), self.partition_by)

    def identity(self, directory: str) -> str:
        """A table inside the project moves with it."""
        path = posixpath.normpath(posixpath.join(directory, self.path))
        inside = path.startswith(f"{directory.rstrip('/')}/")
        return f"table:{posixpath.relpath(path, directory) if inside else path}"

    def legacy_directory_name(self, directory: str) -> str:
        """As 0.2.0 named it: two paths could have one name."""
        return "table-" + posixpath.relpath(self.path, directory).strip("./").replace("/", "-")
