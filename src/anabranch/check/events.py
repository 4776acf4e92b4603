"""Events drawn from a topic's schema, for a proof: few values of each field, so that keys meet in one window. Pure, seeded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal as Number
from itertools import pairwise
from random import Random
from typing import Any

from anabranch.pipeline.definition import Pipeline
from anabranch.pipeline.schema import Array, Decimal, Map, Scalar, Struct, Type
from anabranch.pipeline.topic import Topic
from anabranch.pipeline.windows import windows_of

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
# Of a field that may be null.
_NULLS = 0.1
# Windows that the events are in: some close while others fill.
_WINDOWS = 4
_MOST_DIGITS = 4


@dataclass(frozen=True)
class Event:
    time: datetime
    value: dict[str, Any]


Batches = tuple[tuple[Event, ...], ...]


def draw_batches(pipeline: Pipeline, random: Random, events: int, batches: int) -> Batches:
    """In an order that a stream may see: none behind the watermark. Cut anywhere, a batch may be empty."""
    windows = windows_of(pipeline)
    span_ms = windows.length_ms + _WINDOWS * windows.slide_ms
    delay_ms = round((pipeline.watermark_s or 0) * 1000)
    drawn = [_event(pipeline.topic, random, random.randrange(span_ms)) for _ in range(events)]
    # Each comes up to the delay later than it happened: so none comes behind another that is later by more than the delay.
    arriving = sorted(
        drawn, key=lambda event: (event.time + timedelta(milliseconds=random.randint(0, delay_ms)), random.random())
    )
    cuts = [0, *sorted(random.randint(0, events) for _ in range(batches - 1)), events]
    return tuple(tuple(arriving[start:end]) for start, end in pairwise(cuts))


def closing_event(pipeline: Pipeline, batches: Batches) -> Event:
    """So late that all windows of the others are closed behind it."""
    newest = max((event.time for batch in batches for event in batch), default=BEGIN)
    after = timedelta(milliseconds=windows_of(pipeline).length_ms * 2, seconds=(pipeline.watermark_s or 0) + 1)
    return _event(pipeline.topic, Random(0), 0, newest + after)


def _event(topic: Topic, random: Random, at_ms: int, time: datetime | None = None) -> Event:
    time = time or BEGIN + timedelta(milliseconds=at_ms)
    value = {field.name: _drawn(field.type, random, field.name, field.is_required) for field in topic.schema.fields}
    return Event(time, {**value, topic.event_time: time})


def _drawn(kind: Type, random: Random, name: str, is_required: bool) -> Any:
    if not is_required and random.random() < _NULLS:
        return None
    match kind:
        case Scalar():
            return _scalar(kind.name, random, name)
        case Decimal(precision, scale):
            return Number(random.randrange(10 ** min(precision, _MOST_DIGITS))).scaleb(-scale)
        case Struct(fields):
            return {field.name: _drawn(field.type, random, field.name, field.is_required) for field in fields}
        case Array(element):
            return [_drawn(element, random, name, True) for _ in range(random.randrange(3))]
        case Map(value):
            return {f"{name}-{number}": _drawn(value, random, name, True) for number in range(random.randrange(3))}


def _scalar(kind: str, random: Random, name: str) -> Any:
    number = random.randrange(100)
    match kind:
        case "STRING":
            return f"{name}-{number % 3}"
        case "BOOLEAN":
            return number % 2 == 0
        case "DOUBLE":
            # Sums of quarters are exact in any order: what differs is not rounding.
            return number / 4
        case "TIMESTAMP":
            return BEGIN + timedelta(minutes=number)
        case "DATE":
            return date(2026, 1, 1) + timedelta(days=number)
    return number


def count_events(batches: Sequence[Sequence[Event]]) -> int:
    return sum(map(len, batches))
