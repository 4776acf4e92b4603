"""What an audit says of each window, beside an oracle that shares no code with it, on drawn streams.

The oracle (oracle.py) applies the law record by record, in DuckDB; an audit goes by bins and cutoffs. Here Spark's part is
played by the records themselves: what is left below the cutoffs is counted.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from anabranch.audit.inspect import bins_within, corrections_of, count_lake, count_late
from anabranch.audit.pins import pin
from anabranch.audit.ranges import holds
from anabranch.audit.summary import balance_of, closed_by, verdict_of
from anabranch.audit.tally import Tally
from anabranch.audit.verdict import Balance, Found, Verdict
from anabranch.audit.windows import (
    EVER,
    Correction,
    LateTally,
    WindowCount,
    count_windows,
    judgeable,
    late_cutoffs,
    outdated,
    tally_late,
    unjudged,
)
from anabranch.checkpoint.history import NewestEvent
from anabranch.checkpoint.timeline import Timeline, timeline_of
from anabranch.delta.stored import BinCount, Cutoff, StoredRecord
from anabranch.reprocess.plan import Compared, Range
from anabranch.text.format import iso_utc
from tests.audit.drawn_projects import write_project
from tests.audit.drawn_streams import Stream, streams
from tests.audit.oracle import Cell, LateRow, Oracle, Truth

ARRIVED = datetime(2025, 9, 4, tzinfo=UTC)
# Operation and value of each result, by when its window begins.
Results = Mapping[int, tuple[int | None, str | None]]


@pytest.fixture(scope="module")
def oracle() -> Oracle:
    return Oracle()


@dataclass(frozen=True)
class Judged:
    """What an audit makes of what it has found."""

    cells: dict[int, Cell]
    verdict: Verdict
    balance: Balance
    late: LateTally
    timeline: Timeline


def stands(stream: Stream) -> Timeline:
    timeline = timeline_of(stream.batches())
    assert timeline is not None
    newest = timeline.newest_within(stream.lake_ends)
    assert newest is not None
    return timeline.cut(newest)


def late_records(stream: Stream, cutoffs: Iterable[Cutoff]) -> Iterator[StoredRecord]:
    """As the lake gives them."""
    first = {(one.bin, one.partition): one.offset for one in cutoffs}
    for partition, offset, record in stream.in_lake():
        if record.is_usable and record.event_ms is not None:
            cutoff = first.get((record.event_ms // stream.windows.bin_ms, partition))
            if cutoff is not None and offset >= cutoff:
                yield StoredRecord(partition, offset, record.event_ms * 1000, ARRIVED)


def audit(stream: Stream, results: Results) -> Judged:
    timeline, bins, windows = stands(stream), stream.bins(), stream.windows
    counts = count_windows(bins, windows)
    closed = judgeable(EVER, timeline, windows).closed
    ranges = [] if closed is None else [closed]
    judged = {start: one for start, one in counts.items() if holds(ranges, start)}
    cutoffs = late_cutoffs(bins_within(bins, ranges, windows), timeline, windows)
    newer = outdated(stream.corrected(), judged)
    late = tally_late(late_records(stream, cutoffs), timeline, windows, stream.delay_ms, judged, newer)
    return conclude(stream, results, timeline, bins, ranges, counts, late, newer)


def conclude(
    stream: Stream,
    results: Results,
    timeline: Timeline,
    bins: Sequence[BinCount],
    ranges: Sequence[Range],
    counts: Mapping[int, WindowCount],
    late: LateTally,
    newer: Mapping[int, Correction],
) -> Judged:
    """As audit/apply.py goes on, without Spark."""
    windows = stream.windows
    judged = {start: one for start, one in counts.items() if holds(ranges, start)}
    tally = Tally(windows, counts, late={start for start, one in judged.items() if one.late}, outdated=newer.keys())
    found = []
    for start in sorted(
        {start for start, one in judged.items() if one.usable} | {one for one in results if holds(ranges, one)}
    ):
        emitted, operation = results.get(start, (None, None))
        if emitted is None and not (start in judged and judged[start].usable):
            continue
        cutoffs = timeline.cutoffs(start + windows.length_ms) or {}
        one = Compared(
            key=f"{start}",
            start_ms=start,
            emitted=_text(emitted),
            should_be=_text(_below(stream, start, None)),
            counted=_text(_below(stream, start, cutoffs)),
            known=_text(_below(stream, start, newer[start].cutoffs)) if start in newer else None,
            operation=None if emitted is None else operation,
        )
        kept = tally.take(one, every=True)
        assert kept is not None
        found.append(kept)
    within = [*bins_within(bins, ranges, windows), *(one for one in bins if one.bin is None)]
    problems = sum(one.problems for one in within)
    balance = balance_of(within, late.count, sum(one.usable for one in within) + problems, problems, 0)
    verdict = verdict_of(tally, judged, late, balance.counted + balance.late, *unjudged(counts, judged, timeline, windows))
    return Judged({int(one.key): _cell(one) for one in found}, verdict, balance, late, timeline)


def _below(stream: Stream, start_ms: int, cutoffs: Mapping[int, int] | None) -> int | None:
    """How many usable records of a window are before the cutoffs; None: there is none, so no result."""
    count = 0
    for partition, offset, record in stream.in_lake():
        if record.is_usable and record.event_ms is not None and 0 <= record.event_ms - start_ms < stream.windows.length_ms:
            count += cutoffs is None or offset < cutoffs.get(partition, 0)
    return count or None


def _text(count: int | None) -> str | None:
    return None if count is None else json.dumps({"count": count})


def _cell(one: Found) -> Cell:
    emitted, should_be = (None if text is None else json.loads(text)["count"] for text in (one.emitted, one.should_be))
    return Cell(one.in_lake, one.problems, one.counted, one.late, emitted, should_be, one.operation, one.verdict)


def late_rows(late: LateTally) -> list[LateRow]:
    return [
        LateRow(
            one.partition,
            one.offset,
            one.event_ms,
            one.window_end_ms,
            -1 if one.batch is None else one.batch,
            one.was_read,
            one.watermark_ms,
            one.late_by_ms,
        )
        for one in late.named
    ]


def check(found: Judged, truth: Truth, stream: Stream) -> None:
    assert found.cells == truth.windows
    assert late_rows(found.late) == truth.late
    assert found.late.by_partition == Counter(one.partition for one in truth.late)
    assert (found.late.count, found.late.unread) == (len(truth.late), sum(not one.was_read for one in truth.late))
    balance = found.balance
    assert (balance.in_lake, balance.counted, balance.late) == (truth.in_lake, truth.counted, len(truth.late))
    assert (balance.problems, balance.remainder) == (truth.problems, 0)
    verdict = found.verdict
    assert verdict.results == Counter(one.verdict for one in truth.windows.values())
    assert (verdict.usable, verdict.not_counted, verdict.open) == (
        truth.counted + len(truth.late),
        truth.not_counted,
        truth.open,
    )
    check_closings(found.timeline, truth, stream)


def check_closings(timeline: Timeline, truth: Truth, stream: Stream) -> None:
    """When each window closed, and by which event."""
    events = {batch: NewestEvent(iso_utc(time_ms), "visits", 0, 0) for batch, time_ms in stream.newest_events().items()}
    for end_ms, (batch, watermark_ms, event_ms) in truth.closed_by.items():
        closing = closed_by(timeline, events, end_ms, stream.delay_ms)
        assert closing is not None
        assert (closing.batch, closing.watermark, closing.event_time) == (batch, iso_utc(watermark_ms), iso_utc(event_ms))


@settings(max_examples=250)
@given(stream=streams())
def test_an_audit_says_of_every_window_what_the_law_says_record_by_record(stream: Stream, oracle: Oracle) -> None:
    truth = oracle.ask(stream.told())
    for kind in {one.verdict for one in truth.windows.values()}:
        event(kind)
    check(audit(stream, truth.results), truth, stream)


def audit_of_lake(stream: Stream, results: Results, directory: Path, retained: int) -> Judged:
    """As audit/look.py goes, from the disk."""
    project, pipeline = write_project(stream, directory, retained)
    pinned = pin(project, pipeline)
    timeline, counts = pinned.ran.timeline, count_lake(pipeline, pinned, [EVER])
    closed = judgeable(EVER, timeline, stream.windows).closed
    ranges = [] if closed is None else [closed]
    newer = outdated(
        corrections_of(project, pipeline), {start: one for start, one in counts.windows.items() if holds(ranges, start)}
    )
    late = count_late(pipeline, pinned, counts, ranges, newer)
    return conclude(stream, results, timeline, counts.bins, ranges, counts.windows, late, newer)


@settings(max_examples=40)
@given(stream=streams(), retained=st.integers(3, 12))
def test_the_same_from_a_lake_and_a_checkpoint_on_the_disk(stream: Stream, retained: int, oracle: Oracle) -> None:
    truth = oracle.ask(stream.told())
    with TemporaryDirectory() as directory:
        check(audit_of_lake(stream, truth.results, Path(directory) / "project", retained), truth, stream)
