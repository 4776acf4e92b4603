"""Pipelines run by the real runner, in the test's own Spark session: with their history, at the price of one JVM."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from anabranch.kafka.admin import KafkaAdmin
from anabranch.streaming.runner import Runner
from anabranch.streaming.running import PipelineRun
from anabranch.streaming.sinks.base import QueryRun
from tests.support.streams import Stream

if TYPE_CHECKING:
    from anabranch.errors import Reason
    from anabranch.streaming.run_progress import RunProgress


@dataclass
class Seen:
    """What a run has shown and told. `on_show` is called with each look."""

    told: list[Reason] = field(default_factory=list)
    last: Sequence[RunProgress] = ()
    on_show: Callable[[Sequence[RunProgress]], None] | None = None

    def tell(self, reason: Reason) -> None:
        self.told.append(reason)

    def out(self, lines: str) -> None:
        del lines

    def show(self, progress: Sequence[RunProgress]) -> None:
        self.last = list(progress)
        if self.on_show is not None:
            self.on_show(progress)


def runner_of(
    stream: Stream, topics: KafkaAdmin, seen: Seen, max_offsets: int, *, until_caught_up: bool = True, allows_jump: bool = False
) -> Runner:
    pipeline = stream.pipeline.changed(max_offsets=max_offsets, trigger_s=0.0)
    query = QueryRun(pipeline, str(stream.checkpoint), stream.kafka, "UTC", ("earliest",), until_caught_up)
    run = PipelineRun(query, stream.location, lambda: None, lambda: None, pipeline.name, allows_jump)
    return Runner(stream.spark, [run], topics, seen, "no log")


def run(stream: Stream, topics: KafkaAdmin, max_offsets: int, *, allows_jump: bool = False) -> Seen:
    """Reads what is there, in batches of so many offsets, and ends."""
    seen = Seen()
    runner_of(stream, topics, seen, max_offsets, allows_jump=allows_jump).run()
    return seen
