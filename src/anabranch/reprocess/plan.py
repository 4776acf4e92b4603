"""Recomputing event-time windows: which range, whether it may be done, what would change. Pure.

Ranges are half-open and made of whole windows: a result of a part of a window would overwrite a right one with a wrong one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from anabranch.errors import Refused
from anabranch.pipeline.definition import Pipeline
from anabranch.reprocess.staleness import InputSnapshot, LaterResult, stale_inputs
from anabranch.text.instants import iso_utc

# Results shown in words, those that change first.
_MOST_SHOWN = 20


@dataclass(frozen=True)
class Range:
    """[start, end) in milliseconds since the epoch."""

    start_ms: int
    end_ms: int

    def describe(self) -> str:
        return f"{iso_utc(self.start_ms)} to {iso_utc(self.end_ms)}"


@dataclass(frozen=True)
class StreamState:
    """How far the stream and the lake have come: what decides whether a window may be recomputed."""

    # Of the last committed batch, as it ran: by it windows were given, and the next batch drops late visits by it.
    watermark_ms: int | None
    # As the next batch will run.
    next_watermark_ms: int | None
    stream_read: Mapping[int, int]
    lake_read: Mapping[int, int]


@dataclass(frozen=True)
class Change:
    """One result: what the topic holds for its key now, and what it should hold."""

    key: str
    before: str | None
    after: str


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
    ground: InputSnapshot


@dataclass(frozen=True)
class RangeChunk:
    """A part of a range, of whole windows, and the rows that the lake has in its hours."""

    range: Range
    rows: int


def check_recomputable(pipeline: Pipeline) -> None:
    if pipeline.window_s is None:
        raise Refused(
            f"{pipeline.name} has no windows that could be recomputed.", "its records are in the lake: anabranch lake"
        )
    if not pipeline.is_recomputable:
        raise Refused(
            f"{pipeline.name} counts within each batch: its results depend on how records were cut into batches,"
            " which the lake does not tell.",
            "anabranch reprocess browsers-stateful   has the same counts over all batches",
        )


def whole_windows(asked: Range, window_s: float) -> Range:
    """The range widened to whole windows, which Spark counts from the epoch."""
    if asked.end_ms <= asked.start_ms:
        raise Refused(f"the range {asked.describe()} is empty.", "--from must be before --to")
    window_ms = round(window_s * 1000)
    return Range(asked.start_ms // window_ms * window_ms, -(-asked.end_ms // window_ms) * window_ms)


def check_closed(pipeline: Pipeline, wanted: Range, state: StreamState) -> None:
    """Refuses what the stream may still give."""
    if state.watermark_ms is None or state.next_watermark_ms is None:
        raise Refused(f"{pipeline.name} has never run: there is nothing to correct.", f"anabranch run {pipeline.name}")
    if wanted.end_ms > state.watermark_ms:
        delay_ms = round((pipeline.watermark_s or 0) * 1000)
        raise Refused(
            f"windows up to {iso_utc(wanted.end_ms)} are not closed: the watermark of {pipeline.name} is at"
            f" {iso_utc(state.watermark_ms)}. The stream itself will still give them.",
            f"its next batch closes them: anabranch run {pipeline.name}"
            if wanted.end_ms <= state.next_watermark_ms
            else f"they are closed when it has read an event at {iso_utc(wanted.end_ms + delay_ms)} or later",
        )


def check_lake(pipeline: Pipeline, state: StreamState) -> None:
    """Refuses while the lake lacks what the stream has read. For planning: later the version is pinned."""
    behind = {
        partition: end - state.lake_read.get(partition, 0)
        for partition, end in state.stream_read.items()
        if end > state.lake_read.get(partition, 0)
    }
    if behind:
        words = ", ".join(f"{count:,} records of partition {partition}" for partition, count in sorted(behind.items()))
        raise Refused(
            f"the lake has not yet got what {pipeline.name} has already read: {words}.",
            "anabranch run visits-lake --until-caught-up",
        )


def partitions_of(wanted: Range) -> tuple[int, int]:
    """The first and the last hour of a range, as numbers that partitions can be compared with: year, month, day, hour."""
    return _hour(wanted.start_ms), _hour(wanted.end_ms - 1)


def _hour(moment_ms: int) -> int:
    text = iso_utc(moment_ms)
    return int(text[0:4]) * 1_000_000 + int(text[5:7]) * 10_000 + int(text[8:10]) * 100 + int(text[11:13])


def split_range(wanted: Range, window_s: float, rows_by_hour: Mapping[int, int], rows_at_most: int) -> Iterator[RangeChunk]:
    """The range in parts of about so many rows: after each of them there is progress to show."""
    window_ms = round(window_s * 1000)
    start_ms, rows = wanted.start_ms, 0
    for hour, count in sorted(rows_by_hour.items()):
        cut_ms = _hour_start_ms(hour) // window_ms * window_ms
        if rows + count > rows_at_most and cut_ms > start_ms:
            yield RangeChunk(Range(start_ms, cut_ms), rows)
            start_ms, rows = cut_ms, 0
        rows += count
    yield RangeChunk(Range(start_ms, wanted.end_ms), rows)


def _hour_start_ms(hour: int) -> int:
    return round(datetime.strptime(f"{hour:010}", "%Y%m%d%H").replace(tzinfo=UTC).timestamp() * 1000)


def count_windows(wanted: Range, window_s: float) -> int:
    return round((wanted.end_ms - wanted.start_ms) / (window_s * 1000))


def changes_between(results: Sequence[tuple[str, str]], latest: Mapping[str, str]) -> tuple[Change, ...]:
    """Every recomputed result beside the latest one of its key, by key."""
    return tuple(Change(key, latest.get(key), value) for key, value in sorted(results))


def check_not_stale(plan: ReprocessPlan, now: InputSnapshot, later: Sequence[LaterResult]) -> None:
    """Refuses a plan whose ground has moved: its results would be wrong, or would hide newer ones."""
    keys = {change.key for change in plan.changes}
    if moved := list(stale_inputs(plan.ground, now, later, keys=keys, operation=plan.operation)):
        raise Refused(
            f"the ground has moved since {plan.operation} was planned, nothing is sent: {'; '.join(moved)}.",
            f"anabranch reprocess {plan.pipeline} --from {iso_utc(plan.asked.start_ms)} --to {iso_utc(plan.asked.end_ms)}"
            "   makes a new plan",
        )


def explain(plan: ReprocessPlan) -> Iterator[str]:
    """The plan in words. Apply reads the same plan: what is said here is what is done."""
    yield f"Reprocess {plan.pipeline}: {plan.range.describe()}, {plan.windows} window{'s' if plan.windows != 1 else ''}."
    if plan.range != plan.asked:
        yield f"  widened to whole windows; asked for was {plan.asked.describe()}"
    yield f"  from the lake {plan.lake}, version {plan.lake_version}: {plan.files} files, {plan.rows:,} rows"
    yield f"  to topic {plan.topic}: {len(plan.changes)} results, {_changed(plan)} of them changed"
    changed_first = sorted(plan.changes, key=lambda change: change.before == change.after)
    for change in sorted(changed_first[:_MOST_SHOWN], key=lambda change: change.key):
        yield f"    {_short(change)}"
    if len(plan.changes) > _MOST_SHOWN:
        yield f"    and {len(plan.changes) - _MOST_SHOWN:,} more: --json shows them all"
    yield "  the running query is not touched; readers that keep the latest result of each key see the new ones"


def _changed(plan: ReprocessPlan) -> int:
    return sum(change.before != change.after for change in plan.changes)


def _short(change: Change) -> str:
    before = "none" if change.before is None else _count(change.before)
    key = ", ".join(str(part) for part in json.loads(change.key).values())
    after = _count(change.after)
    return f"{key}  {after} (as it is)" if change.before == change.after else f"{key}  {before} -> {after}"


def _count(value: str) -> str:
    try:
        return str(json.loads(value)["count"])
    except (ValueError, KeyError, TypeError):
        return value
