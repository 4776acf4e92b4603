"""One pipeline of a run, from start to end, over restarts of its query."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from anabranch.checkpoint.layout import KafkaOffsets, RetainedOffsets
from anabranch.checkpoint.reader import read_logs
from anabranch.checkpoint.restartable import lag_of
from anabranch.errors import AnabranchError
from anabranch.storage.files import CheckpointLocation
from anabranch.streaming.batch_gate import BatchGate
from anabranch.streaming.run_progress import RunProgress
from anabranch.streaming.sinks.base import QueryRun
from anabranch.streaming.watermark_guard import WatermarkGuard

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery


@dataclass(frozen=True)
class PipelineRun:
    query: QueryRun
    location: CheckpointLocation
    # Called once, when its query has ended for good: others may run the pipeline from then on.
    release: Callable[[], None]
    # Called in every tick until then: keeps its lease, and raises where the checkpoint is no longer its own.
    renew: Callable[[], None]
    # As a command names it, with its sink.
    called: str
    # The first batch may run under a watermark that has moved further than the pipeline allows.
    allows_jump: bool = False
    # What its results follow from besides its records (preflight.py); None: not known.
    code: str | None = None


@dataclass
class Running:
    """What is known of it now."""

    run: PipelineRun
    progress: RunProgress
    gate: BatchGate
    guard: WatermarkGuard
    query: StreamingQuery | None = None
    # The newest batch in the history.
    recorded: int = -1
    # The newest batch that its table had before its query started; -1: none, or no table.
    was_written: int = -1
    # Topic -> partition.
    retained: RetainedOffsets = field(default_factory=dict)
    read: KafkaOffsets = field(default_factory=dict)
    # When a stop was asked for, and since when the query has looked idle then.
    closed_at_s: float = 0.0
    idle_since_s: float | None = None
    retry_at_s: float | None = None
    # Since when the query is known to have ended although no event said so.
    inactive_since_s: float | None = None
    failures: int = 0
    error: AnabranchError | None = None
    ended: bool = False

    @property
    def name(self) -> str:
        return self.run.query.pipeline.name

    @property
    def topics(self) -> tuple[str, ...]:
        return self.run.query.pipeline.topic_names

    def newest_commit(self) -> int | None:
        return read_logs(self.run.location.storage()).commits.newest

    def next_batch(self) -> int:
        newest = self.newest_commit()
        return 0 if newest is None else newest + 1

    def update(self, **changes: Any) -> None:
        self.progress = replace(self.progress, **changes)

    @property
    def lag(self) -> int | None:
        if not self.retained:
            return None
        return sum(
            lag_of(offsets, self.read.get(topic, {}).get(partition))
            for topic, partitions in self.retained.items()
            for partition, offsets in partitions.items()
        )

    def end(self) -> None:
        self.ended = True
        self.run.release()
