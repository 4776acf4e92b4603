"""Adds up which delay records needed, group by group: arrays in, counts out. Sees no lake.

It holds a number for each second of delay that any record needed and one for each bin of event time, however many records.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from anabranch.checkpoint.timeline import Timeline
from anabranch.lateness.curve import Needs, needed_of
from anabranch.lateness.reach import Reached, first_known
from anabranch.pipeline.windows import Windows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

# No record is late for a time that is so long ago, and no sum with it overflows.
_NO_TIME_MS = -(2**62)


class Tally:
    """`begins`: partition -> the first offset that the stream was to read, where that is not 0."""

    def __init__(self, timeline: Timeline, begins: Mapping[int, int], reached: Reached, windows: Windows, unit_ms: int) -> None:
        self._timeline, self._begins, self._windows, self._unit_ms = timeline, begins, windows, unit_ms
        batches = range(timeline.first, timeline.last + 1)
        times_ms = np.array(reached.times_ms, dtype=np.int64)
        self._reached_ms = np.where(times_ms > 0, times_ms, _NO_TIME_MS)
        self._dropping_ms = np.array([timeline.dropping_watermark_ms(batch) for batch in batches], dtype=np.int64)
        self._ends = {partition: np.array(ends, dtype=np.int64) for partition, ends in timeline.ends.items()}
        # Records that these batches read.
        self.records = 0
        # Those that batches read of which too little is known.
        self.left_out = 0
        # By the watermark, as it ran.
        self.dropped = 0
        self._by_unit: Counter[int] = Counter()
        # Bin -> the greatest time that was reached when a record of it was read.
        self._reached_by_bin: dict[int, int] = {}

    def add(self, partition: int, offsets: Numbers, event_ms: Numbers) -> None:
        """Usable records of one partition, in any order."""
        if partition not in self._ends:
            return
        batch = np.searchsorted(self._ends[partition], offsets, side="right")
        is_known = (offsets >= self._timeline.begins[partition]) & (batch >= first_known(self._timeline) - self._timeline.first)
        was_read = (offsets >= self._begins.get(partition, 0)) & (batch < len(self._reached_ms))
        self.left_out += int(np.count_nonzero(was_read & ~is_known))
        counts = was_read & is_known
        self._count(batch[counts], event_ms[counts] // self._windows.bin_ms)

    def _count(self, batch: Numbers, bins: Numbers) -> None:
        self.records += len(bins)
        # The arithmetic is that of numbers. Of windows that overlap, the first is the first that lacks a record.
        ends_ms = cast("Numbers", self._windows.first_end_ms(cast(Any, bins)))
        dropping_ms, reached_ms = self._dropping_ms[batch], self._reached_ms[batch]
        self.dropped += int(np.count_nonzero((ends_ms <= dropping_ms) & (dropping_ms > 0)))
        needs_ms = reached_ms - ends_ms
        units, counts = np.unique(needs_ms[needs_ms >= 0] // self._unit_ms, return_counts=True)
        for unit, count in zip(units.tolist(), counts.tolist(), strict=True):
            self._by_unit[unit] += count
        touched, places = np.unique(bins, return_inverse=True)
        greatest = np.full(len(touched), _NO_TIME_MS, dtype=np.int64)
        np.maximum.at(greatest, places, reached_ms)
        for number, time_ms in zip(touched.tolist(), greatest.tolist(), strict=True):
            self._reached_by_bin[number] = max(time_ms, self._reached_by_bin.get(number, _NO_TIME_MS))

    def needs(self, start_ms: int | None = None, end_ms: int | None = None) -> Needs:
        """Of all records, and of the windows that begin in [start, end)."""
        by_window: dict[int, int] = {}
        for number, time_ms in self._reached_by_bin.items():
            for window_end_ms in self._window_ends(number):
                window_start_ms = window_end_ms - self._windows.length_ms
                if (start_ms is None or start_ms <= window_start_ms) and (end_ms is None or window_start_ms < end_ms):
                    need = (time_ms - window_end_ms) // self._unit_ms
                    by_window[window_end_ms] = max(need, by_window.get(window_end_ms, need))
        windows = needed_of(len(by_window), Counter(by_window.values()))
        return Needs(self._unit_ms, needed_of(self.records, self._by_unit), windows)

    def _window_ends(self, number: int) -> range:
        """Of the windows that a bin is in."""
        first_ms, length_ms = self._windows.first_end_ms(number), self._windows.length_ms
        return range(first_ms, number * self._windows.bin_ms + length_ms + 1, self._windows.slide_ms)
