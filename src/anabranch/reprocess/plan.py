"""Recomputing event-time windows: which range, whether it may be done, what would change.

Ranges are half-open and made of whole windows: a result of a part of a window would overwrite a right one with a wrong one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from anabranch.delta.hours import hour_of, start_of_hour_ms
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
    operation: str
    pipeline: str
    topic: str
    asked: Range
    range: Range
    windows: int
    lake: str
    lake_version: int
    files: int
    rows: int
    changes: tuple[Change, ...]
    unexpected: tuple[Unexpected, ...]
    inputs: InputSnapshot


@dataclass(frozen=True)
class RangeChunk:
    """A part of a range, of whole windows, and the rows that the lake has in its hours."""

    range: Range
    rows: int


def with_topic(pipeline: Pipeline, name: str | None) -> Pipeline:
    """The pipeline as sent to the topic whose results are to be corrected. Refuses one whose windows cannot be recomputed."""
    if pipeline.window_s is None:
        raise messages.NO_WINDOWS(pipeline=pipeline.name)
    if pipeline.per_batch:
        raise messages.COUNTS_PER_BATCH(pipeline=pipeline.name)
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


def split_range(wanted: Range, windows: Windows, rows_by_hour: Mapping[int, int], rows_at_most: int) -> Iterator[RangeChunk]:
    """The range in chunks of about so many rows: after each of them there is progress to show."""
    start_ms, rows = wanted.start_ms, 0
    for hour, count in sorted(rows_by_hour.items()):
        cut_ms = start_of_hour_ms(hour) // windows.slide_ms * windows.slide_ms
        # The records of the last windows that slide lie behind the range.
        if rows + count > rows_at_most and start_ms < cut_ms < wanted.end_ms:
            yield RangeChunk(Range(start_ms, cut_ms), rows)
            start_ms, rows = cut_ms, 0
        rows += count
    yield RangeChunk(Range(start_ms, wanted.end_ms), rows)


def check_not_stale(plan: ReprocessPlan, now: InputSnapshot, later: Sequence[LaterResult]) -> None:
    """Refuses a plan whose inputs have changed: its results would be wrong, or would hide newer ones."""
    keys = {change.key for change in plan.changes}
    if why := list(stale_inputs(plan.inputs, now, later, keys=keys, operation=plan.operation)):
        start, end = iso_utc(plan.asked.start_ms), iso_utc(plan.asked.end_ms)
        raise messages.INPUTS_STALE(operation=plan.operation, why=why, pipeline=plan.pipeline, start=start, end=end)


def count_windows(wanted: Range, windows: Windows) -> int:
    return (wanted.end_ms - wanted.start_ms) // windows.slide_ms


def changes_between(results: Sequence[tuple[str, str]], latest: Mapping[str, str]) -> tuple[Change, ...]:
    """Every recomputed result beside the latest one of its key, by key."""
    return tuple(Change(key, latest.get(key), value) for key, value in sorted(results))


def unexpected_between(results: Sequence[tuple[str, str]], latest: Mapping[str, str], wanted: Range) -> tuple[Unexpected, ...]:
    """The latest results of windows in the range that came out of no record, by key."""
    recomputed = {key for key, _ in results}
    return tuple(
        Unexpected(key, value)
        for key, value in sorted(latest.items())
        if key not in recomputed and value and (start_ms := _window_start_ms(key)) is not None
        if wanted.start_ms <= start_ms < wanted.end_ms
    )


def _window_start_ms(key: str) -> int | None:
    """Of a result's key (streaming/results.py); None: it is not one of ours."""
    try:
        start = datetime.fromisoformat(json.loads(key)["window_start"])
    except (ValueError, KeyError, TypeError):
        return None
    return round(start.timestamp() * 1000) if start.tzinfo else None
