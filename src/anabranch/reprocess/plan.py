"""Recomputing event-time windows: which range, whether it may be done, what would change.

Ranges are half-open and made of whole windows: a result of a part of a window would overwrite a right one with a wrong one.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from anabranch.delta.hours import hour_of
from anabranch.operations.receipt import Kind
from anabranch.pipeline.definition import Pipeline
from anabranch.pipeline.sinks import Results
from anabranch.pipeline.windows import Windows, windows_of
from anabranch.reprocess import messages
from anabranch.reprocess.staleness import InputSnapshot, LaterResult, stale_inputs
from anabranch.text.format import iso_utc


@dataclass(frozen=True)
class Range:
    """[start, end) in milliseconds since the epoch."""

    start_ms: int
    end_ms: int

    def holds(self, moment_ms: int) -> bool:
        return self.start_ms <= moment_ms < self.end_ms

    def describe(self) -> str:
        return f"{iso_utc(self.start_ms)} to {iso_utc(self.end_ms)}"


@dataclass(frozen=True)
class StreamState:
    """How far the stream has come: what decides whether a window may be recomputed."""

    # Of the last committed batch, as it ran: by it windows were emitted, and the next batch drops late records by it.
    watermark_ms: int | None
    # As the next batch will run.
    next_watermark_ms: int | None


@dataclass(frozen=True)
class Compared:
    """One key: what the topic holds for it, and what it should hold. None: nothing."""

    key: str
    # When its window begins.
    start_ms: int
    emitted: str | None
    should_be: str | None
    # What the stream's own records of it give, without those that it dropped. None also: it was not asked for.
    counted: str | None = None
    # What the records give that the operation knew which sent the one held. None also: it was not asked for.
    known: str | None = None
    # Where the one held is from.
    origin: str | None = None
    operation: str | None = None


@dataclass(frozen=True)
class Change:
    """One result: what the topic holds for its key now, and what it should hold."""

    key: str
    before: str | None
    after: str


@dataclass(frozen=True)
class Unexpected:
    """A result that the topic holds for a window of which the lake has no usable record. It is shown, and never sent."""

    key: str
    value: str


@dataclass(frozen=True)
class ReprocessPlan:
    """Of a reprocess, or of a repair."""

    operation: str
    pipeline: str
    topic: str
    asked: Range
    range: Range
    # Within it: the windows whose results are sent.
    ranges: tuple[Range, ...]
    windows: int
    lake: str
    lake_version: int
    files: int
    rows: int
    # How many results are sent; how many of them change what the topic holds.
    results: int
    changed: int
    # Of those the first by key, changed ones first: no more are shown. All are in the file beside the plan.
    changes: tuple[Change, ...]
    unexpected_results: int
    unexpected: tuple[Unexpected, ...]
    inputs: InputSnapshot
    # Of a repair: the audit whose findings it corrects.
    audit: str | None

    @property
    def kind(self) -> Kind:
        return "reprocess" if self.audit is None else "repair"


def with_topic(pipeline: Pipeline, name: str | None) -> Pipeline:
    """The pipeline as sent to the topic whose results are to be corrected. Refuses one whose windows cannot be recomputed."""
    if pipeline.window_s is None:
        raise messages.NO_WINDOWS(pipeline=pipeline.name)
    if pipeline.per_batch:
        raise messages.COUNTS_PER_BATCH(pipeline=pipeline.name)
    if len(pipeline.topics) > 1:
        raise messages.JOINS_TOPICS(pipeline=pipeline.name, topics=list(pipeline.topic_names))
    if not pipeline.is_recomputable:
        raise messages.NOT_BY_WINDOW(pipeline=pipeline.name)
    if name is not None:
        return replace(pipeline, sink=Results(name))
    if not isinstance(pipeline.sink, Results):
        raise messages.NO_RESULT_TOPIC(pipeline=pipeline.name)
    return pipeline


def whole_windows(asked: Range, windows: Windows) -> Range:
    """All windows that have a time of the range: from where the first of them begins to where the one behind the last would."""
    if asked.end_ms <= asked.start_ms:
        raise messages.EMPTY_RANGE(range=asked.describe())
    return Range(windows.first_start_ms(asked.start_ms - windows.length_ms + 1), windows.first_start_ms(asked.end_ms))


def times_of(wanted: Range, windows: Windows) -> Range:
    """The event times of the records in all windows that begin in a range."""
    return Range(wanted.start_ms, windows.last_end_ms(wanted.end_ms))


def check_closed(pipeline: Pipeline, wanted: Range, state: StreamState) -> None:
    """Refuses what the stream may still emit."""
    if state.watermark_ms is None or state.next_watermark_ms is None:
        raise messages.NEVER_RAN(pipeline=pipeline.name)
    end_ms = times_of(wanted, windows_of(pipeline)).end_ms
    if end_ms > state.watermark_ms:
        closing_ms = end_ms + round((pipeline.watermark_s or 0) * 1000)
        is_next = end_ms <= state.next_watermark_ms
        raise messages.WINDOWS_OPEN(
            end=iso_utc(end_ms),
            pipeline=pipeline.name,
            watermark=iso_utc(state.watermark_ms),
            when=messages.CLOSES_NEXT_BATCH(pipeline=pipeline.name)
            if is_next
            else messages.CLOSES_WITH_EVENT(time=iso_utc(closing_ms)),
        )


def hours_of(times: Range) -> tuple[int, int]:
    """The first and the last hour of a range."""
    return hour_of(times.start_ms), hour_of(times.end_ms - 1)


def check_not_stale(plan: ReprocessPlan, now: InputSnapshot, later: Sequence[LaterResult], keys: Collection[str]) -> None:
    """Refuses a plan whose inputs have changed: its results would be wrong, or would hide newer ones. `keys`: its own."""
    if why := list(stale_inputs(plan.inputs, now, later, keys=keys, operation=plan.operation)):
        start, end = iso_utc(plan.asked.start_ms), iso_utc(plan.asked.end_ms)
        again = {"command": plan.kind, "pipeline": plan.pipeline, "start": start, "end": end}
        raise messages.INPUTS_STALE(operation=plan.operation, why=why, **again)


def count_windows(wanted: Range, windows: Windows) -> int:
    return (wanted.end_ms - wanted.start_ms) // windows.slide_ms


def is_of(key: str, ranges: Iterable[Range]) -> bool:
    """Whether a result is of a window that begins in one of these ranges, by its key (streaming/results.py)."""
    try:
        start = datetime.fromisoformat(json.loads(key)["window_start"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return False
    if start.tzinfo is None:
        return False
    start_ms = round(start.timestamp() * 1000)
    return any(one.holds(start_ms) for one in ranges)
