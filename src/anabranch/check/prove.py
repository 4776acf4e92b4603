"""Proves on drawn events that a pipeline's windows can be recomputed: a stream of them, cut and shuffled within the watermark,
ends with the results that one batch of them gives. Or finds a counter-example, as small as it can be made."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

from pyspark.sql import Row, SparkSession

from anabranch.check import messages
from anabranch.check.events import Batches, Event, closing_event, count_events, draw_batches
from anabranch.check.findings import Finding
from anabranch.check.shrink import keep, shrink
from anabranch.errors import Reason
from anabranch.pipeline.definition import Pipeline
from anabranch.streaming.decoder.decode import decode
from anabranch.streaming.rehearsal import RawRecord, Rehearsal, RehearsedBatch
from anabranch.streaming.transforms import transformed, without_problems
from anabranch.text.json_text import json_text

# Each round draws other events, cuts and orders. A few seconds for each of them.
ROUNDS, EVENTS, BATCHES = 2, 40, 3
# A stream is run for each.
MOST_TRIES = 16
_ZONE = "spark.sql.session.timeZone"
# What makes a small batch cheap and no result another: no batches without data, which the last event replaces.
_QUICK = {"spark.sql.streaming.noDataMicroBatches.enabled": "false", "spark.sql.shuffle.partitions": "1"}


@dataclass(frozen=True)
class Difference:
    key: str
    stream: list[str]
    batch: list[str]
    # The window of the key; None: it has none.
    window: tuple[datetime, datetime] | None


class Proof:
    def __init__(self, spark: SparkSession, pipeline: Pipeline, directory: Path, zone: str, seed: int) -> None:
        self._pipeline, self._directory, self._zone, self._seed = pipeline, directory, zone, seed
        self._spark = spark.newSession()
        for name, value in _QUICK.items():
            self._spark.conf.set(name, value)
        self._spark.conf.set(_ZONE, str(spark.conf.get(_ZONE)))
        # Records are as punctual as their events, and no guard stops the one that closes the windows.
        self._tried = replace(pipeline, future_tolerance_s=None, watermark_jump_s=None, skip=())

    def why_not(self) -> Reason | None:
        if not self._pipeline.is_recomputable:
            return messages.WHY_NOT_RECOMPUTABLE()
        if self._pipeline.output_mode == "update" and not self._pipeline.grouping:
            return messages.WHY_NO_KEY()
        return None

    def run(self) -> Finding | Reason:
        """A counter-example, or what was proved, or why nothing can be."""
        name = self._pipeline.name
        if (why := self.why_not()) is not None:
            return messages.NOT_PROVABLE(pipeline=name, why=why)
        for number in range(ROUNDS):
            batches = draw_batches(self._pipeline, Random(f"{self._seed}:{number}"), EVENTS, BATCHES)
            if (difference := self._difference(batches)) is not None:
                return self._counter_example(batches, difference)
        return messages.PROVED(pipeline=name, events=ROUNDS * EVENTS, rounds=ROUNDS, seed=self._seed)

    def _counter_example(self, batches: Batches, difference: Difference) -> Finding:
        found = difference

        def fails(smaller: Batches) -> bool:
            nonlocal found
            again = self._difference(smaller)
            found = again or found
            return again is not None

        if difference.window is not None:
            start, end = difference.window
            of_window = keep(batches, lambda event: start <= event.time < end)
            batches = of_window if fails(of_window) else batches
        batches = shrink(batches, fails, MOST_TRIES)
        reason = messages.NOT_EQUAL(
            pipeline=self._pipeline.name,
            key=found.key,
            stream=found.stream or ["nothing"],
            batch=found.batch or ["nothing"],
            batches=[json_text([event.value for event in batch]) for batch in batches],
            seed=self._seed,
        )
        return Finding(self._pipeline.name, self._pipeline.place, reason)

    def _difference(self, batches: Batches) -> Difference | None:
        rehearsal = Rehearsal(self._spark, self._tried, self._directory / uuid4().hex, self._zone)
        for batch in batches:
            rehearsal.add([map(_record, batch)])
        if self._pipeline.output_mode == "append":
            # The first moves the watermark, in the batch of the second it is in force.
            closing = _record(closing_event(self._pipeline, batches))
            rehearsal.add([[closing]])
            rehearsal.add([[closing]])
        streamed = rehearsal.run()
        decoded = decode(rehearsal.read(0), self._tried.topic, zone=self._zone, future_tolerance_s=None)
        # Those that close the windows come behind all others.
        inside = without_problems(decoded).where(f"_offset < {count_events(batches)}")
        # In the reverse of the order in which the stream has seen them.
        reverse = inside.coalesce(1).sortWithinPartitions("_offset", ascending=False)
        rows = transformed([reverse], self._tried).collect()
        return self._compared(streamed, rows)

    def _compared(self, streamed: Sequence[RehearsedBatch], rows: Sequence[Row]) -> Difference | None:
        expected, windows = self._by_key(rows)
        found: dict[str, list[str]] = {}
        for batch in streamed:
            results, more = self._by_key(batch.rows)
            windows |= more
            for key, values in results.items():
                # Of one key the latest result counts; in append mode there is but one.
                found[key] = sorted([*found.get(key, []), *values]) if self._pipeline.output_mode == "append" else values
        for key in sorted(expected.keys() | found.keys()):
            if expected.get(key) != found.get(key):
                return Difference(key, found.get(key, []), expected.get(key, []), windows.get(key))
        return None

    def _by_key(self, rows: Sequence[Row]) -> tuple[dict[str, list[str]], dict[str, tuple[datetime, datetime]]]:
        results: defaultdict[str, list[str]] = defaultdict(list)
        windows = {}
        for row in rows:
            fields = row.asDict()
            key = ", ".join(f"{name}={_words(fields[name])}" for name in self._pipeline.grouping) or "all results"
            others = {name: value for name, value in fields.items() if name not in self._pipeline.grouping}
            results[key].append(", ".join(f"{name}={_words(value)}" for name, value in others.items()))
            if isinstance(window := fields.get("window"), Row):
                windows[key] = (window["start"].astimezone(), window["end"].astimezone())
        return {key: sorted(values) for key, values in results.items()}, windows


def _words(value: Any) -> str:
    if isinstance(value, Row) and set(value.__fields__) == {"start", "end"}:
        return f"{value['start'].astimezone():%Y-%m-%dT%H:%M:%S%z}"
    return str(value)


def _record(event: Event) -> RawRecord:
    return RawRecord(json_text(event.value).encode(), event.time)
