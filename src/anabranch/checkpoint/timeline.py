"""The batches of a query that stand, and the law by which its watermark drops records. Pure: offsets and watermarks, no files.

The law (docs/internals/hazards.md, Time): a record that batch N reads is dropped from a window if and only if the window ends
at or before the watermark of batch N-1. Watermarks only rise, and within a partition offsets rise with batches. So each window
end has one first batch whose predecessor's watermark has reached it, and each partition one offset from which on a record is
late. Batches that a rewind took back do not stand: they count as they ran the last time.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class TimelineBatch:
    batch: int
    # As it ran: of its entry in the log of offsets.
    watermark_ms: int
    # Partition -> the half-open range that it read of the one topic. None: not known.
    ranges: Mapping[int, tuple[int, int]] | None


@dataclass(frozen=True)
class Timeline:
    """Batches `first` to `last` without a gap. Each sequence has one item for each of them, oldest first."""

    first: int
    watermarks_ms: Sequence[int]
    # Partition -> the offset behind what each batch had read.
    ends: Mapping[int, Sequence[int]]
    # Partition -> the first offset that these batches read.
    begins: Mapping[int, int]
    # Windows that end later than this are known to have closed in these batches, or to be open. None: all windows.
    floor_ms: int | None

    @property
    def last(self) -> int:
        return self.first + len(self.watermarks_ms) - 1

    @property
    def watermark_ms(self) -> int:
        """Of the newest batch, as it ran: windows up to it are closed."""
        return self.watermarks_ms[-1]

    @property
    def read(self) -> dict[int, int]:
        """Partition -> the offset behind what all of them have read."""
        return {partition: ends[-1] for partition, ends in self.ends.items()}

    def is_closed(self, window_end_ms: int) -> bool:
        """Whether every result of the window has been emitted."""
        return window_end_ms <= self.watermark_ms

    def is_known(self, window_end_ms: int) -> bool:
        """Whether it can be told which records of the window were late."""
        return self.floor_ms is None or window_end_ms > self.floor_ms

    def closing_batch(self, window_end_ms: int) -> int | None:
        """The first batch that drops records of the window; the one behind the newest where it has yet to come.

        None: the window is open.
        """
        index = bisect_left(self.watermarks_ms, window_end_ms)
        return None if index == len(self.watermarks_ms) else self.first + index + 1

    def cutoffs(self, window_end_ms: int) -> dict[int, int] | None:
        """Partition -> the offset from which on a record of the window is late. None: the window is open."""
        closing = self.closing_batch(window_end_ms)
        if closing is None:
            return None
        return {partition: ends[closing - 1 - self.first] for partition, ends in self.ends.items()}

    def batch_of(self, partition: int, offset: int) -> int | None:
        """The batch that read a record; the one behind the newest where none has yet. None: it came before these batches."""
        if partition not in self.ends:
            return self.last + 1
        if offset < self.begins[partition]:
            return None
        return self.first + bisect_right(self.ends[partition], offset)

    def dropping_watermark_ms(self, batch: int) -> int:
        """By which a batch drops records: that of the batch before it. 0: none."""
        index = batch - 1 - self.first
        return self.watermarks_ms[index] if index >= 0 else self.floor_ms or 0

    def newest_within(self, held: Mapping[int, int]) -> int | None:
        """The newest batch that has read no further than this. `held`: partition -> the offset behind the last."""
        indexes = (bisect_right(ends, held.get(partition, 0)) for partition, ends in self.ends.items())
        count = min(indexes, default=len(self.watermarks_ms))
        return None if count == 0 else self.first + count - 1

    def cut(self, last: int) -> Timeline:
        """As it stood when this was its newest batch."""
        count = last - self.first + 1
        ends = {partition: ends[:count] for partition, ends in self.ends.items()}
        return Timeline(self.first, self.watermarks_ms[:count], ends, self.begins, self.floor_ms)


def timeline_of(newest_first: Iterable[TimelineBatch]) -> Timeline | None:
    """Of the batches up to the newest one, as far back as all is known of them. None: not even of the newest."""
    taken: list[TimelineBatch] = []
    before: TimelineBatch | None = None
    for one in newest_first:
        if taken and one.batch != taken[-1].batch - 1:
            break
        if one.ranges is None:
            before = one
            break
        taken.append(one)
    if not taken:
        return None
    taken.reverse()
    begins = _begins(taken)
    first = taken[0]
    floor_ms = None if first.batch == 0 else first.watermark_ms if before is None else before.watermark_ms
    ends = {partition: _ends(taken, partition, begin) for partition, begin in begins.items()}
    return Timeline(first.batch, [one.watermark_ms for one in taken], ends, begins, floor_ms)


def _begins(batches: Sequence[TimelineBatch]) -> dict[int, int]:
    begins: dict[int, int] = {}
    for one in batches:
        for partition, (first, _) in (one.ranges or {}).items():
            begins.setdefault(partition, first)
    return dict(sorted(begins.items()))


def _ends(batches: Sequence[TimelineBatch], partition: int, begin: int) -> list[int]:
    """A partition that came later had its begin before."""
    ends = []
    for one in batches:
        begin = (one.ranges or {}).get(partition, (begin, begin))[1]
        ends.append(begin)
    return ends
