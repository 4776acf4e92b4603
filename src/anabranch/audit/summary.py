"""What an audit says, from what was counted. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Protocol

from anabranch.audit.concentration import Candidate, most_frequent
from anabranch.audit.tally import Tally
from anabranch.audit.verdict import Balance, ClosedBy, Concentration, Late, Verdict
from anabranch.audit.windows import LateTally, WindowCount
from anabranch.checkpoint.timeline import Timeline
from anabranch.delta.stored import BinCount
from anabranch.text.format import iso_utc


class Event(Protocol):
    """The greatest event time that a batch has read."""

    @property
    def at(self) -> str: ...
    @property
    def record(self) -> str: ...


def verdict_of(
    tally: Tally, judged: Mapping[int, WindowCount], late: LateTally, usable: int, open_windows: int, unknown: int
) -> Verdict:
    """A window is one that has a usable record, or a result."""
    starts = {start for start, one in judged.items() if one.usable} | tally.classes.keys()
    return Verdict(
        windows=len(starts),
        equal=len(starts) - len(tally.wrong),
        wrong=len(tally.wrong),
        open=open_windows,
        unknown=unknown,
        results=dict(sorted(tally.results.items())),
        usable=usable,
        not_counted=sum(_not_counted(tally, late, start) for start in tally.wrong_by_late),
    )


def _not_counted(tally: Tally, late: LateTally, start_ms: int) -> int:
    """A correction has counted those that it knew."""
    return late.by_window[start_ms] if start_ms in tally.late_of_stream else late.since_correction[start_ms]


def balance_of(stored: Sequence[BinCount], late: int, records: int, problems: int, elsewhere: int) -> Balance:
    """`stored`: the records as the lake's columns tell them. The other numbers are of the same records, decoded today."""
    in_lake = sum(one.usable + one.problems for one in stored) - elsewhere
    return Balance(in_lake, counted=records - problems - elsewhere - late, late=late, problems=problems)


def has_moved(stored: Sequence[BinCount], problems: int, elsewhere: int, check: int) -> bool:
    """Whether records have another time today than they were stored with.

    One that had a problem, and has none today, may have a time outside of what was looked at.
    """
    had_problems = sum(one.problems for one in stored)
    if elsewhere > max(0, had_problems - problems):
        return True
    return had_problems == problems and sum(one.check or 0 for one in stored) != check


def late_of(late: LateTally, concentrated: Sequence[Concentration], closing: ClosedBy | None, named: int) -> Late | None:
    if late.count == 0:
        return None
    return Late(
        count=late.count,
        unread=late.unread,
        least_ms=late.least_ms,
        median_ms=late.median_ms,
        most_ms=late.most_ms,
        by_partition=dict(sorted(late.by_partition.items())),
        concentrated=tuple(concentrated),
        closed_by=closing,
        records=tuple(late.named[:named]),
    )


def partition_shares(late: LateTally, stored: Sequence[BinCount]) -> list[tuple[Candidate, int, int]]:
    """Partitions with several late records; how many each has of all records of the windows with late ones, and these."""
    usable, total = Counter[int](), sum(one.usable for one in stored)
    for one in stored:
        usable[one.partition] += one.usable
    return [
        (Candidate("partition", str(partition), count, late.count), usable[partition], total)
        for partition, count in most_frequent(late.by_partition)
    ]


def closed_by(timeline: Timeline, newest_events: Mapping[int, Event], window_end_ms: int, delay_ms: int) -> ClosedBy | None:
    """None: the window is open, or closed before the oldest batch that is known."""
    first_dropping = timeline.closing_batch(window_end_ms)
    if first_dropping is None or first_dropping <= timeline.first:
        return None
    batch = first_dropping - 1
    watermark_ms = timeline.watermarks_ms[batch - timeline.first]
    wanted = iso_utc(watermark_ms + delay_ms)
    moved_by = next(
        (one for number in range(batch - 1, -1, -1) if (one := newest_events.get(number)) and one.at == wanted), None
    )
    record, event_time = (moved_by.record, moved_by.at) if moved_by else (None, None)
    return ClosedBy(iso_utc(window_end_ms), batch, iso_utc(watermark_ms), record, event_time)
