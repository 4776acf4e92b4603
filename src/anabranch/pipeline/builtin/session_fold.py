"""Visits as a fold: pages counted as they come, and a visit that is over when the watermark has left it behind.

A visit's timer stands 10 minutes past where the watermark stood at its last update; while there is no watermark yet,
10 minutes past its latest event. When the watermark reaches the timer the visit is finished and forgotten: one that comes
back later starts at 1, and state does not grow.

Many visits share a bucket, because Python's state costs a round trip for each key: a bucket is one key with one timer.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from json.encoder import encode_basestring_ascii
from typing import NamedTuple

# Part of every checkpoint: never change it. More than 64 cost more than they bring (docs/internals/spark-session.md).
BUCKETS = 16
TIMEOUT_MS = 10 * 60 * 1000


# Tuples: there may be a million of them, and each is made again in every batch that touches its bucket.
class Visit(NamedTuple):
    pages: int
    timer_ms: int


class Pages(NamedTuple):
    """What a batch holds of one visit."""

    number: int
    latest_event_ms: int


class VisitResult(NamedTuple):
    visit_id: str | None
    visited_pages: int
    is_finished: bool


Bucket = Mapping[str | None, Visit]


def update(bucket: Bucket, batch: Mapping[str | None, Pages], watermark_ms: int) -> tuple[Bucket, list[VisitResult]]:
    """The bucket after a batch, and the early result of each visit in it."""
    updated = {
        visit_id: Visit(
            pages=pages.number + (bucket[visit_id].pages if visit_id in bucket else 0),
            timer_ms=TIMEOUT_MS + (watermark_ms if watermark_ms > 0 else _latest_ms(pages, bucket.get(visit_id))),
        )
        for visit_id, pages in batch.items()
    }
    results = [VisitResult(visit_id, visit.pages, False) for visit_id, visit in updated.items()]
    return {**bucket, **updated}, results


def _latest_ms(pages: Pages, before: Visit | None) -> int:
    """Without a watermark the timer is the latest event's: an older event must not set it back."""
    return max(pages.latest_event_ms, before.timer_ms - TIMEOUT_MS) if before else pages.latest_event_ms


def expire(bucket: Bucket, watermark_ms: int) -> tuple[Bucket, list[VisitResult]]:
    """The bucket without the visits that are over, and their last results. A timer fires when the watermark reaches it."""
    over = {visit_id: visit for visit_id, visit in bucket.items() if visit.timer_ms <= watermark_ms}
    left = {visit_id: visit for visit_id, visit in bucket.items() if visit_id not in over}
    return left, [VisitResult(visit_id, visit.pages, True) for visit_id, visit in over.items()]


def next_timer_ms(bucket: Bucket) -> int | None:
    return min((visit.timer_ms for visit in bucket.values()), default=None)


def to_text(bucket: Bucket) -> str:
    """As the state store keeps it: one JSON object, from the visit's id as JSON (so that `null` is not the visit "null")."""
    return json.dumps({_name(visit_id): visit for visit_id, visit in bucket.items()})


def _name(visit_id: str | None) -> str:
    """As json.dumps would write it, without its detour."""
    return "null" if visit_id is None else encode_basestring_ascii(visit_id)


def from_text(text: str | None) -> Bucket:
    entries: Iterable[tuple[str, list[int]]] = json.loads(text).items() if text else ()
    return {_visit_id(name): Visit(*entry) for name, entry in entries}


def _visit_id(name: str) -> str | None:
    return name[1:-1] if name.startswith('"') and "\\" not in name else json.loads(name)
