"""The open visits of a bucket as the state store keeps them: chunks of packed columns, of which a batch writes one.

A later chunk replaces what an earlier one says of a visit. So a batch writes the visits that it touched, not the bucket: with
a million open visits that is a twentieth (docs/internals/sessions.md). Chunks of a kind are merged before they become many,
and the whole bucket when half of what its chunks say is replaced or over.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, compress, count, takewhile
from typing import NamedTuple

from anabranch.pipeline.builtin.session_fold import Changes, Visit

# So many chunks of about one size become one. With fewer a visit that stays is written again more often, with more there are
# more chunks to read (docs/internals/sessions.md). Another number may be chosen later: chunks of any sizes are read.
FAN = 16
# The timer of a visit that is over: never due, and later than any other.
_NEVER_MS = 2**63 - 1
_OVER = Visit(0, _NEVER_MS)


class Chunk(NamedTuple):
    """Visits as columns: of each its id, its pages and its timer."""

    visit_ids: Sequence[str | None]
    pages: Sequence[int]
    timers_ms: Sequence[int]


@dataclass(frozen=True)
class Bucket:
    # The oldest first.
    chunks: tuple[Chunk, ...] = ()
    # Their columns, one behind the other, and the row in which a visit was last written.
    pages: Sequence[int] = ()
    timers_ms: Sequence[int] = ()
    newest: Mapping[str | None, int] = field(default_factory=dict)

    @classmethod
    def of(cls, chunks: Iterable[Chunk]) -> Bucket:
        kept = tuple(chunks)
        return cls(
            chunks=kept,
            pages=[*chain.from_iterable(chunk.pages for chunk in kept)],
            timers_ms=[*chain.from_iterable(chunk.timers_ms for chunk in kept)],
            newest=dict(zip(chain.from_iterable(chunk.visit_ids for chunk in kept), count(), strict=False)),
        )

    def get(self, visit_id: str | None) -> Visit | None:
        row = self.newest.get(visit_id)
        return None if row is None or not self.pages[row] else Visit(self.pages[row], self.timers_ms[row])

    def due(self, watermark_ms: int) -> dict[str | None, Visit]:
        pages, timers_ms, newest = self.pages, self.timers_ms, self.newest.items()
        return {visit_id: Visit(pages[row], timers_ms[row]) for visit_id, row in newest if timers_ms[row] <= watermark_ms}

    def visits(self) -> dict[str | None, Visit]:
        """All that are open."""
        return self.due(_NEVER_MS - 1)

    def timers(self) -> Iterator[int]:
        """That of each visit, also of those that are over."""
        return map(self.timers_ms.__getitem__, self.newest.values())

    @property
    def next_timer_ms(self) -> int | None:
        next_ms = min(self.timers(), default=_NEVER_MS)
        return None if next_ms == _NEVER_MS else next_ms

    def changed(self, changes: Changes) -> Bucket:
        """With one chunk more, or with fewer where chunks are merged. All chunks before the first new one stay as they are."""
        if not changes:
            return self
        after = _with(self, _chunk_of(changes))
        sizes = [len(chunk.pages) for chunk in after.chunks]
        open_count = len(after.newest) - [*after.timers()].count(_NEVER_MS)
        if 2 * open_count < sum(sizes):
            return Bucket.of(_merged(after.chunks, 0))
        start = merge_start(sizes)
        return after if start == len(sizes) - 1 else Bucket.of(_merged(after.chunks, start))


def _with(bucket: Bucket, chunk: Chunk) -> Bucket:
    """As Bucket.of((*bucket.chunks, chunk)), without a look at each row that was there before."""
    return Bucket(
        chunks=(*bucket.chunks, chunk),
        pages=[*bucket.pages, *chunk.pages],
        timers_ms=[*bucket.timers_ms, *chunk.timers_ms],
        newest={**bucket.newest, **dict(zip(chunk.visit_ids, count(len(bucket.pages)), strict=False))},
    )


def _merged(chunks: Sequence[Chunk], start: int) -> Iterator[Chunk]:
    """From this one on as one. That a visit is over is forgotten only where nothing older speaks of it."""
    yield from chunks[:start]
    bucket = Bucket.of(chunks[start:])
    pages = [*map(bucket.pages.__getitem__, bucket.newest.values())]
    kept = pages if start == 0 else [1] * len(pages)
    if any(kept):
        yield Chunk([*compress(bucket.newest, kept)], [*compress(pages, kept)], [*compress(bucket.timers(), kept)])


def _chunk_of(changes: Changes) -> Chunk:
    visits = [visit or _OVER for visit in changes.values()]
    return Chunk([*changes], [visit.pages for visit in visits], [visit.timer_ms for visit in visits])


def merge_start(sizes: Sequence[int]) -> int:
    """The first of the chunks that become one, together with all behind it: where the newest are FAN of one level."""
    start = first = len(sizes) - 1
    while start > 0:
        level = _level(sum(sizes[start:]))
        while first > 0 and _level(sizes[first - 1]) <= level:
            first -= 1
        if start - first + 1 < FAN:
            break
        start = first
    return start


def _level(size: int) -> int:
    return (size.bit_length() - 1) // (FAN.bit_length() - 1)


def first_difference(before: Sequence[Chunk], after: Sequence[Chunk]) -> int:
    """The place from which on chunks are to be written or removed."""
    same = takewhile(lambda pair: pair[0] is pair[1], zip(before, after, strict=False))
    return sum(1 for _ in same)


# As the state store keeps a chunk. Numbers are 8 bytes each, in the same order on every machine.
def to_columns(chunk: Chunk) -> tuple[str, bytes, bytes]:
    numbers = struct.Struct(f"<{len(chunk.pages)}q")
    return json.dumps([*chunk.visit_ids], separators=(",", ":")), numbers.pack(*chunk.pages), numbers.pack(*chunk.timers_ms)


def from_columns(visit_ids: str, pages: bytes, timers_ms: bytes) -> Chunk:
    numbers = struct.Struct(f"<{len(pages) // 8}q")
    return Chunk(json.loads(visit_ids), numbers.unpack(pages), numbers.unpack(timers_ms))


def from_text(text: str) -> Chunk:
    """As 0.2.0 kept a bucket: one JSON object, from the visit's id as JSON to its pages and timer."""
    visits = {json.loads(name): Visit(*visit) for name, visit in json.loads(text).items()}
    return _chunk_of(visits)
