"""What a stream did with the records of each window: how many it counted, and which it dropped. Pure.

From what the lake holds of each bin of event time, and the batches that stand (checkpoint/timeline.py has the law).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from anabranch.checkpoint.timeline import Timeline
from anabranch.delta.stored import BinCount, Cutoff, StoredRecord
from anabranch.pipeline.windows import Windows
from anabranch.reprocess.plan import Range

# Before the first time that a calendar has, and behind the last.
EVER = Range(-62_135_596_800_000, 253_402_300_800_000)


@dataclass
class WindowCount:
    """The records of one window in the lake."""

    usable: int = 0
    problems: int = 0
    late: int = 0
    # Partition -> the greatest offset of a usable one.
    last: dict[int, int] = field(default_factory=dict)

    @property
    def counted(self) -> int:
        return self.usable - self.late


@dataclass(frozen=True)
class Judgeable:
    """Which windows of a range can be judged."""

    # The windows that begin in it are closed, and it is known which of their records were late.
    closed: Range | None
    # Windows that end at or before this closed before the oldest batch that is known. None: there are none.
    unknown_until_ms: int | None


def judgeable(wanted: Range, timeline: Timeline, windows: Windows) -> Judgeable:
    floor_ms = timeline.floor_ms
    known_from_ms = EVER.start_ms if floor_ms is None else windows.first_start_ms(floor_ms - windows.length_ms + 1)
    start_ms = max(wanted.start_ms, known_from_ms)
    end_ms = min(wanted.end_ms, closed_until_ms(timeline.watermark_ms, windows))
    unknown_until_ms = floor_ms if floor_ms is not None and wanted.start_ms < known_from_ms else None
    return Judgeable(Range(start_ms, end_ms) if start_ms < end_ms else None, unknown_until_ms)


def closed_until_ms(watermark_ms: int, windows: Windows) -> int:
    """Windows that begin before this are closed."""
    return EVER.start_ms if watermark_ms <= 0 else windows.first_start_ms(watermark_ms - windows.length_ms + 1)


def unjudged(
    counts: Mapping[int, WindowCount], judged: Collection[int], timeline: Timeline, windows: Windows
) -> tuple[int, int]:
    """How many windows are open, and how many closed before the oldest batch that is known. Each has a usable record."""
    others = [start for start, one in counts.items() if one.usable and start not in judged]
    unknown = sum(not timeline.is_known(start + windows.length_ms) for start in others)
    return len(others) - unknown, unknown


def windows_of_bin(bin_number: int, windows: Windows) -> Iterator[int]:
    """When each window begins that a bin is in, the first first."""
    start_ms = windows.first_end_ms(bin_number) - windows.length_ms
    while start_ms <= bin_number * windows.bin_ms:
        yield start_ms
        start_ms += windows.slide_ms


def count_windows(bins: Iterable[BinCount], windows: Windows) -> dict[int, WindowCount]:
    """When it begins -> what the lake holds of it. Late records are not yet told apart."""
    found: dict[int, WindowCount] = {}
    for one in bins:
        if one.bin is None:
            continue
        for start_ms in windows_of_bin(one.bin, windows):
            window = found.setdefault(start_ms, WindowCount())
            window.usable += one.usable
            window.problems += one.problems
            if one.last is not None:
                window.last[one.partition] = max(window.last.get(one.partition, -1), one.last)
    return found


def late_cutoffs(bins: Iterable[BinCount], timeline: Timeline, windows: Windows) -> list[Cutoff]:
    """Where the late records are: of windows that overlap, one is late if the first of them lacks it."""
    found = []
    for one in bins:
        if one.bin is not None and one.last is not None:
            cutoffs = timeline.cutoffs(windows.first_end_ms(one.bin))
            if cutoffs is not None and one.last >= (first := cutoffs.get(one.partition, 0)):
                found.append(Cutoff(one.bin, one.partition, first))
    return found


@dataclass(frozen=True)
class LateRecord:
    """A record that the stream dropped, or will drop when it reads it."""

    partition: int
    offset: int
    event_ms: int
    arrived_ms: int
    # Of the first window that lacks it.
    window_end_ms: int
    # None: it came before the oldest batch that is known.
    batch: int | None
    # False: the batch has yet to come.
    was_read: bool
    # By which it was dropped.
    watermark_ms: int
    # The shortest watermark delay with which it would have been counted, all else being the same.
    needed_delay_ms: int

    @property
    def late_by_ms(self) -> int:
        return self.watermark_ms - self.window_end_ms


def late_record(one: StoredRecord, timeline: Timeline, windows: Windows, delay_ms: int) -> LateRecord:
    """`delay_ms`: the stream's own."""
    event_ms = one.event_us // 1000
    window_end_ms = windows.first_end_ms(event_ms // windows.bin_ms)
    batch = timeline.batch_of(one.partition, one.offset)
    reading = timeline.last + 1 if batch is None else batch
    watermark_ms = timeline.dropping_watermark_ms(reading)
    return LateRecord(
        partition=one.partition,
        offset=one.offset,
        event_ms=event_ms,
        arrived_ms=round(one.record_time.timestamp() * 1000),
        window_end_ms=window_end_ms,
        batch=batch,
        was_read=batch is None or batch <= timeline.last,
        watermark_ms=watermark_ms,
        needed_delay_ms=needed_delay_ms(watermark_ms + delay_ms - window_end_ms, windows.delay_unit_ms(delay_ms)),
    )


def needed_delay_ms(short_ms: int, unit_ms: int) -> int:
    """The shortest that is longer, in whole units. `short_ms`: from the window's end to the greatest event time known."""
    return (short_ms // unit_ms + 1) * unit_ms


# So many late records are named.
MOST_NAMED = 1000


@dataclass
class LateTally:
    """Late records, counted one by one: the first of them are kept."""

    count: int = 0
    unread: int = 0
    by_partition: Counter[int] = field(default_factory=Counter)
    # When the first window begins that lacks them -> how many; and of them those that its newest correction did not know.
    by_window: Counter[int] = field(default_factory=Counter)
    since_correction: Counter[int] = field(default_factory=Counter)
    # By how much -> how many.
    late_by_ms: Counter[int] = field(default_factory=Counter)
    named: list[LateRecord] = field(default_factory=list)

    def take(self, one: LateRecord, length_ms: int) -> None:
        self.count += 1
        self.unread += not one.was_read
        self.by_partition[one.partition] += 1
        self.by_window[one.window_end_ms - length_ms] += 1
        self.late_by_ms[one.late_by_ms] += 1
        if len(self.named) < MOST_NAMED:
            self.named.append(one)

    @property
    def least_ms(self) -> int:
        return min(self.late_by_ms)

    @property
    def most_ms(self) -> int:
        return max(self.late_by_ms)

    @property
    def median_ms(self) -> int:
        """The lower one of two."""
        seen = 0
        for late_by_ms, count in sorted(self.late_by_ms.items()):
            seen += count
            if 2 * seen >= self.count:
                return late_by_ms
        return 0


@dataclass(frozen=True)
class Correction:
    """An operation that has sent the results of some windows, as the lake gave them then."""

    operation: str
    ranges: Sequence[Range]
    # Partition -> the offset from which on it knew no record of these windows.
    cutoffs: Mapping[int, int]

    def lacks(self, partition: int, offset: int) -> bool:
        """A record of these windows."""
        return offset >= self.cutoffs.get(partition, 0)


def tally_late(
    records: Iterable[StoredRecord],
    timeline: Timeline,
    windows: Windows,
    delay_ms: int,
    counts: Mapping[int, WindowCount],
    corrected: Mapping[int, Correction],
) -> LateTally:
    """Notes in `counts` from how many windows each was dropped. `corrected`: as of `outdated`."""
    tally = LateTally()
    for stored in records:
        one = late_record(stored, timeline, windows, delay_ms)
        tally.take(one, windows.length_ms)
        first_start_ms = one.window_end_ms - windows.length_ms
        if first_start_ms in corrected and corrected[first_start_ms].lacks(one.partition, one.offset):
            tally.since_correction[first_start_ms] += 1
        for start_ms in windows_of_bin(one.event_ms // windows.bin_ms, windows):
            cutoffs = timeline.cutoffs(start_ms + windows.length_ms)
            if cutoffs is not None and one.offset >= cutoffs.get(one.partition, 0) and start_ms in counts:
                counts[start_ms].late += 1
    return tally


def outdated(corrections: Iterable[Correction], counts: Mapping[int, WindowCount]) -> dict[int, Correction]:
    """Window -> the newest operation that corrected it, where records have come since. `corrections`: the oldest first."""
    newest: dict[int, Correction] = {}
    starts = sorted(counts)
    for one in corrections:
        for part in one.ranges:
            first, end = (bisect_left(starts, bound_ms) for bound_ms in (part.start_ms, part.end_ms))
            newest.update(dict.fromkeys(starts[first:end], one))
    return {
        start_ms: one
        for start_ms, one in newest.items()
        if any(one.lacks(partition, last) for partition, last in counts[start_ms].last.items())
    }
