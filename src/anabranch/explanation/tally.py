"""How many records of one window each batch has read, group by group: arrays in, counts out. Sees no lake.

It holds a number for each batch, however many records.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from anabranch.checkpoint.timeline import Timeline

# Records of one partition, in any order: the partition, offsets, and which of them are usable.
Group = tuple[int, NDArray[np.int64], NDArray[np.bool_]]


def usable_group(partition: int, offsets: Sequence[int]) -> Group:
    return partition, np.array(offsets, dtype=np.int64), np.ones(len(offsets), dtype=np.bool_)


class Tally:
    """`since`: partition -> the offset from which on a correction knew no record. None: there was no correction."""

    def __init__(self, timeline: Timeline, since: Mapping[int, int] | None) -> None:
        self._timeline, self._since = timeline, since
        self._ends = {partition: np.array(ends, dtype=np.int64) for partition, ends in timeline.ends.items()}
        # Batch -> records. Those that no batch has read yet are of the one behind the newest.
        self.usable: Counter[int] = Counter()
        self.problems: Counter[int] = Counter()
        # Those that batches before the oldest have read.
        self.earlier = self.earlier_problems = 0
        self.since_correction = 0

    def add(self, group: Group) -> None:
        partition, offsets, is_usable = group
        ends = self._ends.get(partition, np.array([], dtype=np.int64))
        is_known = offsets >= self._timeline.begins.get(partition, 0)
        self.earlier += int(np.count_nonzero(is_usable & ~is_known))
        self.earlier_problems += int(np.count_nonzero(~is_usable & ~is_known))
        first = self._timeline.first if partition in self._ends else self._timeline.last + 1
        batches = first + np.searchsorted(ends, offsets, side="right")
        for counts, which in ((self.usable, is_usable), (self.problems, ~is_usable)):
            numbers, times = np.unique(batches[which & is_known], return_counts=True)
            counts.update(dict(zip(numbers.tolist(), times.tolist(), strict=True)))
        if self._since is not None:
            self.since_correction += int(np.count_nonzero(is_usable & (offsets >= self._since.get(partition, 0))))
