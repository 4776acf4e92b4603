"""How far the event times had come that each batch's watermark follows from. Pure.

The law (checkpoint/timeline.py): batch N drops a record from a window that ends at or before the watermark of offsets/N-1, and
that watermark is the greatest event time of the batches up to N-2, less the delay. That greatest time does not depend on the
delay, so with it any other delay can be judged.

It is taken from what the batches observed of their newest events (basis `events`), where that is known of all of them from
batch 0 on. Else it is told from the watermarks, by adding the delay (basis `watermarks`): right if the delay was never another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

from anabranch.checkpoint.timeline import Timeline

Basis = Literal["events", "watermarks"]


@dataclass(frozen=True)
class Reached:
    basis: Basis
    # For each batch of the timeline: what the watermark by which it drops would be without a delay. 0: there is none yet.
    times_ms: Sequence[int]


def reached(timeline: Timeline, newest_ms: Mapping[int, int], delay_ms: int) -> Reached:
    """`newest_ms`: batch -> the greatest event time that it read, where it is known and there is one."""
    if timeline.first == 0 and all(batch in newest_ms or _read_nothing(timeline, batch) for batch in range(timeline.last - 1)):
        greatest = accumulate((newest_ms.get(batch, 0) for batch in range(timeline.last - 1)), max, initial=0)
        return Reached("events", [0, *greatest][: timeline.last + 1])
    dropping = (timeline.dropping_watermark_ms(timeline.first + index) for index in range(len(timeline.watermarks_ms)))
    return Reached("watermarks", [watermark_ms + delay_ms if watermark_ms > 0 else 0 for watermark_ms in dropping])


def first_known(timeline: Timeline) -> int:
    """The first batch of which it is known which records it dropped. Of the first one, if it is not the query's first, only a
    watermark may be known that came later."""
    return timeline.first if timeline.first == 0 else timeline.first + 1


def _read_nothing(timeline: Timeline, batch: int) -> bool:
    index = batch - timeline.first
    before = {partition: ends[index - 1] if index else timeline.begins[partition] for partition, ends in timeline.ends.items()}
    return all(ends[index] == before[partition] for partition, ends in timeline.ends.items())
