"""Which records a watermark drops, and how far a watermark has moved. Pure: from what a batch has observed to numbers.

The law (docs/internals/hazards.md, Time): a record that batch N reads is dropped from a window if and only if the window ends
at or before the watermark of offsets/N-1. Spark's own counter says less, because it counts rows after a partial aggregation.
Of windows that overlap, a record is late if the first of them lacks it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from anabranch.pipeline.windows import Windows

# Of the histogram that a batch observes: one for each bin. A week of 10-minute windows, and a few kB for each batch.
BINS = 1000
# A watermark that moves further in one batch is named: no source sends a day of events in the usual course, and one that
# rested for a day is worth a line too.
NAMED_JUMP_MS = 86_400_000


def count_late(bins: Iterable[tuple[float, float]], windows: Windows, watermark_ms: int) -> tuple[int, bool]:
    """How many records are late, and whether the number is exact.

    A bin is its number, counted from the epoch, and its records. Bins of several tasks are put together: the same number may
    come more than once, and a weighted average of equal numbers may be a little off. Only where a batch touches more bins than
    there are, different ones share one; then none is free.
    """
    if watermark_ms <= 0:
        return 0, True
    records: Counter[int] = Counter()
    for number, count in bins:
        records[round(number)] += round(count)
    late = sum(count for number, count in records.items() if windows.first_end_ms(number) <= watermark_ms)
    return late, len(records) < BINS


def moved_ms(before_ms: int, after_ms: int) -> int:
    """How far a watermark has moved. The first one moves from nowhere: that is no distance."""
    return max(0, after_ms - before_ms) if before_ms > 0 else 0
