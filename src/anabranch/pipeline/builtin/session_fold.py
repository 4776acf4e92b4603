"""Visits as a fold: pages counted as they come, and a visit that is over when the watermark has left it behind.

A visit's timer stands 10 minutes past where the watermark stood at its last update; while there is no watermark yet,
10 minutes past its latest event. When the watermark reaches the timer the visit is finished and forgotten: one that comes
back later starts at 1, and state does not grow.

Many visits share a bucket, because Python's state costs a round trip for each key: a bucket is one key with one timer.
What a batch changes in a bucket comes out as changes alone; session_chunks.py keeps them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

# Part of every checkpoint: never change it. More than 64 cost more than they bring (docs/internals/spark-session.md).
BUCKETS = 16
TIMEOUT_MS = 10 * 60 * 1000


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


class OpenVisits(Protocol):
    """A bucket as the fold sees it: there may be 100,000 visits in it, so that only those asked for become values."""

    def get(self, visit_id: str | None, /) -> Visit | None: ...

    def due(self, watermark_ms: int, /) -> Mapping[str | None, Visit]:
        """Those whose timer the watermark has reached."""


# None: the visit is over.
Changes = Mapping[str | None, Visit | None]


def update(bucket: OpenVisits, batch: Mapping[str | None, Pages], watermark_ms: int) -> tuple[Changes, list[VisitResult]]:
    """The visits of a batch as they are after it, and the early result of each."""
    changes = {visit_id: _updated(bucket.get(visit_id), pages, watermark_ms) for visit_id, pages in batch.items()}
    return changes, [VisitResult(visit_id, visit.pages, False) for visit_id, visit in changes.items()]


def _updated(before: Visit | None, pages: Pages, watermark_ms: int) -> Visit:
    if before is None:
        return Visit(pages.number, TIMEOUT_MS + (watermark_ms if watermark_ms > 0 else pages.latest_event_ms))
    # Without a watermark the timer is the latest event's: an older event must not set it back.
    timer_ms = watermark_ms + TIMEOUT_MS if watermark_ms > 0 else max(pages.latest_event_ms + TIMEOUT_MS, before.timer_ms)
    return Visit(before.pages + pages.number, timer_ms)


def expire(bucket: OpenVisits, watermark_ms: int) -> tuple[Changes, list[VisitResult]]:
    """The visits that are over, and their last results. A timer fires when the watermark reaches it."""
    over = bucket.due(watermark_ms)
    return dict.fromkeys(over), [VisitResult(visit_id, visit.pages, True) for visit_id, visit in over.items()]
