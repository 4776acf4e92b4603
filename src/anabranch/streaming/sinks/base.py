"""What a kind of sink is: how it writes, and what a rewind does there. Every one is behind the gate (batch_gate.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from anabranch.checkpoint.checkpoint import Checkpoint
from anabranch.checkpoint.layout import KafkaOffsets
from anabranch.errors import Reason, Refused
from anabranch.operations.change import SinkChange
from anabranch.pipeline.definition import Pipeline
from anabranch.pipeline.sinks import Out, Sink
from anabranch.storage.messages import FORMAT_NEWER
from anabranch.streaming import messages
from anabranch.streaming.startable import StartFacts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from anabranch.kafka.admin import KafkaAdmin

# Writes one batch, which has this id. A batch is always taken whole: `show()` or `limit` on a stateful frame leaves state
# unwritten and kills the next batch.
BatchWriter = Callable[["DataFrame", int], None]
# Where a first start begins: at one end of the topic, or behind what the sink holds of it.
Start = Literal["earliest", "latest", "sink"]


@dataclass(frozen=True)
class QueryRun:
    """One pipeline's part of a run: all that its query needs to know."""

    pipeline: Pipeline
    checkpoint: str
    # Properties of Java's Kafka client. Not in a repr: they may hold passwords.
    kafka: Mapping[str, str] = field(repr=False)
    zone: str
    # Where a first start begins to read each topic, as Spark takes it: earliest, latest, or JSON of offsets.
    starts: tuple[str, ...]
    until_caught_up: bool


@dataclass(frozen=True)
class RewoundBatches:
    """The batches from `batch` on, which are taken back."""

    pipeline: Pipeline
    checkpoint: Checkpoint
    batch: int
    operation: str
    kafka: KafkaAdmin


class SinkPolicy:
    """The usual policies: each batch is written by a function of ours, behind the gate; a rewind leaves the sink as it is."""

    kind: ClassVar[str]

    def prepare(self, pipeline: Pipeline, kafka: KafkaAdmin) -> Reason | None:
        """Creates what the sink writes to before the first batch; what was created, if anything."""

    def why_not_start(self, facts: StartFacts, begins: KafkaOffsets | None) -> Iterator[Refused]:
        """What at the sink does not fit the checkpoint. `begins`: where a first start would read from; None: not known."""
        del facts, begins
        yield from ()

    def held_until(self, pipeline: Pipeline) -> KafkaOffsets:
        """The offsets behind the last records of the sources that the sink holds."""
        raise messages.NO_SINK_TO_CONTINUE(pipeline=pipeline.name, sink=pipeline.sink.describe())

    def check_continued(self, facts: StartFacts, kafka: KafkaAdmin, begins: KafkaOffsets | None) -> list[Reason]:
        """Refuses to continue behind records that are not those of the topic; says what is never read then."""
        del facts, kafka, begins
        return []

    def table_id(self, pipeline: Pipeline) -> str | None:
        """None: it writes to no table, or there is none yet."""
        del pipeline
        return None

    def batch_writer(self, run: QueryRun, out: Out) -> BatchWriter:
        raise NotImplementedError

    def plan_rewind(self, rewound: RewoundBatches) -> SinkChange:
        """What a rewind does at the sink. Refuses where it cannot be made right."""
        raise NotImplementedError

    def left_alone(self) -> Reason:
        """What --checkpoint-only means there."""
        return messages.SINK_EMITS_AGAIN()

    def take_back(self, params: Mapping[str, Any]) -> None:
        """May be called again; so may its opposite."""
        raise NotImplementedError

    def put_back(self, params: Mapping[str, Any]) -> None:
        raise NotImplementedError

    def check_undo(self, params: Mapping[str, Any], operation: str) -> None:
        """Refuses where what was taken back cannot be put back any more."""


def leave(kind: str, effect: Reason) -> SinkChange:
    return SinkChange(kind, "leave", effect, messages.SINK_WAS_LEFT(), {})


POLICIES: dict[str, SinkPolicy] = {}


def register(policy: SinkPolicy) -> None:
    POLICIES[policy.kind] = policy


def policy_of(sink: Sink) -> SinkPolicy:
    return POLICIES[sink.kind]


def policy_for(change: SinkChange, plan: str) -> SinkPolicy | None:
    """Who carries out the sink's part of a plan; None: nothing is to be done. Refuses a kind that is not known here."""
    if change.action == "leave":
        return None
    if change.kind not in POLICIES:
        # Never taken for "leave": the operation would finish without its sink.
        raise FORMAT_NEWER(path=plan, what=f"a sink of kind {change.kind!r}")
    return POLICIES[change.kind]
