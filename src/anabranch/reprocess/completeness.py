"""Whether the lake has every record that a stream has read: only then may windows be recomputed from it.

Decides by offsets. An offset that the lake lacks is a loss, unless it never was a record: compaction, deletion and the marks of
transactions leave holes. Those are told apart by what Kafka still retains, and where it no longer does by the lake's own query,
which has counted the records that it wrote.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from anabranch.errors import Reason, Refused
from anabranch.reprocess import messages

# So many ranges are named.
_NAMED = 5

# Partition -> the half-open range of offsets.
Ranges = Mapping[int, tuple[int, int]]


@dataclass(frozen=True)
class Gap:
    """Offsets [first, end) of a partition that the lake has no row for."""

    partition: int
    first: int
    end: int

    @property
    def count(self) -> int:
        return self.end - self.first


@dataclass(frozen=True)
class Loss:
    """A gap that is not known to be a hole."""

    gap: Gap
    # Whether Kafka retains records there; False: it no longer retains these offsets, so it cannot be told.
    is_retained: bool


@dataclass(frozen=True)
class LakeProof:
    """For which offsets of a topic a version of the lake was proven complete: only what came since must be proven again."""

    table_id: str
    version: int
    topic: str
    complete: Ranges


def still_to_prove(read: Ranges, proven: Ranges) -> dict[int, tuple[int, int]]:
    """Of each partition what lies behind what was proven; all of it where that began later."""
    found = {}
    for partition, (first, end) in read.items():
        begun, until = proven.get(partition, (first, first))
        begin = until if begun <= first <= until else first
        if begin < end:
            found[partition] = (begin, end)
    return found


def gaps_of(partition: int, found: Sequence[tuple[int, int]], end: int, most: int) -> list[Gap]:
    """Where no more than `most` were listed, what follows the last one was not looked at: it counts as a gap too."""
    gaps = [Gap(partition, *gap) for gap in found]
    return [*gaps, Gap(partition, gaps[-1].end, end)] if len(gaps) == most and gaps[-1].end < end else gaps


def outside(gaps: Iterable[Gap], ranges: Ranges) -> Iterator[Gap]:
    """What of the gaps is not in the ranges."""
    for gap in gaps:
        first, end = ranges.get(gap.partition, (gap.end, gap.end))
        for begin, until in ((gap.first, min(gap.end, first)), (max(gap.first, end), gap.end)):
            if begin < until:
                yield Gap(gap.partition, begin, until)


def inside(gaps: Iterable[Gap], ranges: Ranges) -> Iterator[Gap]:
    """What of the gaps is in the ranges."""
    for gap in gaps:
        first, end = ranges.get(gap.partition, (gap.end, gap.end))
        begin, until = max(gap.first, first), min(gap.end, end)
        if begin < until:
            yield Gap(gap.partition, begin, until)


def check_complete(pipeline: str, lake_pipeline: str, losses: Sequence[Loss], come_to: Mapping[int, int]) -> None:
    """Refuses where anything is lost. `come_to`: partition -> up to where the lake has come, by its rows or its query."""
    if not losses:
        return
    missing = list(_named(losses))
    if all(loss.is_retained and loss.gap.first >= come_to.get(loss.gap.partition, 0) for loss in losses):
        raise messages.LAKE_BEHIND(pipeline=pipeline, missing=missing, lake=lake_pipeline)
    raise _incomplete(pipeline, lake_pipeline, losses, missing)


def _incomplete(pipeline: str, lake_pipeline: str, losses: Sequence[Loss], missing: list[Reason]) -> Refused:
    ways = [
        messages.WRITE_NEW_LAKE(lake=lake_pipeline)
        if all(loss.is_retained for loss in losses)
        else messages.NOT_RECOMPUTABLE(pipeline=pipeline)
    ]
    return messages.LAKE_INCOMPLETE(pipeline=pipeline, missing=missing, ways=ways)


def _named(losses: Sequence[Loss]) -> Iterator[Reason]:
    for loss in losses[:_NAMED]:
        gap, lacks = loss.gap, messages.LACKS_RETAINED if loss.is_retained else messages.LACKS_EXPIRED
        yield lacks(count=gap.count, partition=gap.partition, first=gap.first, last=gap.end - 1)
    if len(losses) > _NAMED:
        rest = losses[_NAMED:]
        yield messages.LACKS_MORE(ranges=len(rest), count=sum(loss.gap.count for loss in rest))
