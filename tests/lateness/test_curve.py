"""The delay that each record needed, compared with the law as it is written, on drawn timelines."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anabranch.checkpoint.timeline import Timeline, TimelineBatch, timeline_of
from anabranch.lateness.curve import ALL, SHARES, TODAY, Needs, curve, delays_s, needed_of, unit_ms_of
from anabranch.lateness.reach import reached
from anabranch.lateness.tally import Tally
from anabranch.pipeline.windows import Windows

PARTITIONS = (0, 1)


@dataclass(frozen=True)
class Drawn:
    windows: Windows
    delay: int
    # Of each batch: partition -> the event times of its records.
    batches: list[dict[int, list[int]]]

    def watermarks(self, delay: int) -> list[int]:
        """Of each batch, as it would have run with this delay: it follows from the batches before it."""
        found, reach = [], 0
        for batch in self.batches:
            found.append(max(0, reach - delay))
            reach = max([reach, *(time for times in batch.values() for time in times)])
        return found

    def ends(self, event: int) -> list[int]:
        """Of all windows that an event is in."""
        starts = range(-self.windows.length_ms, event + 1)
        return [
            start + self.windows.length_ms
            for start in starts
            if start % self.windows.slide_ms == 0 and event < start + self.windows.length_ms
        ]

    def late(self, delay: int) -> int:
        """Records that the first of their windows would have lacked."""
        return sum(min(self.ends(event)) <= watermark for event, watermark in self._read(delay))

    def wrong(self, delay: int) -> int:
        """Windows that would have lacked a record."""
        return len({end for event, watermark in self._read(delay) for end in self.ends(event) if end <= watermark})

    def _read(self, delay: int) -> list[tuple[int, int]]:
        """The event time of each record, and the watermark by which its batch drops. 0: none."""
        dropping = [0, *self.watermarks(delay)]
        return [
            (event, dropping[number])
            for number, batch in enumerate(self.batches)
            for events in batch.values()
            for event in events
        ]

    @property
    def records(self) -> int:
        return sum(len(events) for batch in self.batches for events in batch.values())

    def timeline(self) -> Timeline:
        positions, found = dict.fromkeys(PARTITIONS, 0), []
        for number, (batch, watermark) in enumerate(zip(self.batches, self.watermarks(self.delay), strict=True)):
            ranges = {
                partition: (positions[partition], positions[partition] + len(batch[partition])) for partition in PARTITIONS
            }
            positions = {partition: end for partition, (_, end) in ranges.items()}
            found.append(TimelineBatch(number, watermark, ranges))
        timeline = timeline_of(found[::-1])
        assert timeline is not None
        return timeline

    def tally(self, timeline: Timeline, newest: dict[int, int], group: int = 7) -> Tally:
        reach = reached(timeline, newest, self.delay)
        tally = Tally(timeline, {}, reach, self.windows, unit_ms_of(self.windows, self.delay))
        for partition in PARTITIONS:
            events = [event for batch in self.batches for event in batch[partition]]
            # Behind those that were read there is one more, which no batch has read yet; and the groups come in any order.
            offsets = np.arange(len(events) + 1, dtype=np.int64)
            times = np.array([*events, 1], dtype=np.int64)
            for begin in reversed(range(0, len(times), group)):
                tally.add(partition, offsets[begin : begin + group], times[begin : begin + group])
        return tally

    def newest(self) -> dict[int, int]:
        found = {n: [time for times in batch.values() for time in times] for n, batch in enumerate(self.batches)}
        return {batch: max(times) for batch, times in found.items() if times}


# Times are far from the epoch, where no watermark is below 0.
BEGIN = 240


@st.composite
def drawn(draw: st.DrawFn) -> Drawn:
    length, delay = draw(st.integers(1, 12)), draw(st.integers(0, 30))
    events = st.lists(st.integers(BEGIN, BEGIN + 30), max_size=4)
    batches = draw(st.lists(st.fixed_dictionaries(dict.fromkeys(PARTITIONS, events)), min_size=1, max_size=8))
    return Drawn(Windows(length, draw(st.integers(1, length))), delay, batches)


@given(drawn(), st.integers(0, 120), st.integers(1, 9))
def test_a_delay_would_have_dropped_what_the_law_drops_with_the_watermarks_that_it_would_have_made(
    one: Drawn, delay: int, group: int
) -> None:
    tally = one.tally(one.timeline(), one.newest(), group)
    needs = tally.needs()
    units = delay // needs.unit_ms
    assert needs.records.late(units) == one.late(units * needs.unit_ms)
    assert needs.windows.late(units) == one.wrong(units * needs.unit_ms)
    assert (tally.records, needs.records.total, tally.left_out) == (one.records, one.records, 0)
    assert needs.windows.total == len({end for event, _ in one._read(0) for end in one.ends(event)})


@given(drawn())
def test_with_todays_delay_as_many_are_late_as_were_really_dropped(one: Drawn) -> None:
    tally = one.tally(one.timeline(), one.newest())
    rows = curve(tally.needs(), one.delay / 1000)
    (today,) = (row for row in rows if TODAY in row.marks)
    assert (today.late, today.delay_s, today.later_s) == (tally.dropped, one.delay / 1000, 0.0)
    assert today.late == one.late(one.delay)


@given(drawn())
def test_the_shortest_delay_for_a_share_counts_that_share_and_one_unit_less_does_not(one: Drawn) -> None:
    needs = one.tally(one.timeline(), one.newest()).needs()
    marks = delays_s(curve(needs, one.delay / 1000))
    for mark, late in [*((mark, one.records // of) for mark, of in SHARES), (ALL, 0)]:
        delay = round(marks[mark] * 1000)
        assert one.late(delay) <= late
        assert delay == 0 or one.late(delay - needs.unit_ms) > late


@given(drawn(), st.integers(0, 120))
def test_watermarks_alone_say_the_same_where_the_delay_was_never_another(one: Drawn, delay: int) -> None:
    """A batch whose figures were lost: its newest event is not known."""
    timeline, newest = one.timeline(), one.newest()
    by_events = one.tally(timeline, newest)
    by_watermarks = one.tally(timeline, {})
    if any(times for batch in one.batches[:-2] for times in batch.values()):
        assert reached(timeline, {}, one.delay).basis == "watermarks"
    assert reached(timeline, newest, one.delay).basis == "events"
    # Before there is a watermark nothing tells how far the events had come.
    if one.delay < BEGIN:
        units = delay // by_events.needs().unit_ms
        assert by_watermarks.needs().records.late(units) == by_events.needs().records.late(units)
        assert by_watermarks.needs().windows.late(units) == by_events.needs().windows.late(units)


@given(drawn(), st.data())
def test_records_before_the_batches_that_are_known_are_left_out_and_counted(one: Drawn, data: st.DataObject) -> None:
    known_from = data.draw(st.integers(1, len(one.batches)))
    whole = one.timeline()
    kept = [
        TimelineBatch(
            batch, whole.watermarks_ms[batch], {p: (whole.ends[p][batch - 1], whole.ends[p][batch]) for p in PARTITIONS}
        )
        for batch in range(known_from, len(one.batches))
    ]
    part = timeline_of(kept[::-1])
    if part is None:
        return
    tally = one.tally(part, one.newest())
    # What the first one dropped would follow from the watermark of a batch that is not known.
    assert tally.records == sum(len(events) for batch in one.batches[known_from + 1 :] for events in batch.values())
    assert tally.records + tally.left_out == one.records


def test_a_record_whose_window_ends_where_the_event_times_were_needs_the_shortest_delay() -> None:
    one = Drawn(Windows(10, 10), 0, [{0: [250], 1: []}, {0: [], 1: []}, {0: [249, 250], 1: []}])
    needs = one.tally(one.timeline(), one.newest()).needs()
    assert (needs.unit_ms, needs.records.late(0), needs.records.late(1), needs.records.least_delay(0)) == (10, 1, 0, 1)


@given(st.dictionaries(st.integers(0, 50), st.integers(1, 5)), st.integers(0, 60))
def test_a_record_is_late_with_what_it_needed_and_counted_with_one_more(by_unit: dict[int, int], late: int) -> None:
    needed = needed_of(1000, by_unit)
    for delay in range(53):
        assert needed.late(delay) == sum(count for unit, count in by_unit.items() if unit >= delay)
    delay = needed.least_delay(late)
    assert needed.late(delay) <= late
    assert delay == 0 or needed.late(delay - 1) > late


@given(st.dictionaries(st.integers(0, 10_000_000), st.integers(1, 5), max_size=20), st.integers(0, 10_000_000))
def test_the_table_has_no_delay_twice_and_never_more_late_with_a_longer_one(by_unit: dict[int, int], delay: int) -> None:
    needs = Needs(1000, needed_of(200_000, by_unit), needed_of(50, Counter()))
    rows = curve(needs, float(delay))
    assert [row.delay_s for row in rows] == sorted({row.delay_s for row in rows})
    assert [row.late for row in rows] == sorted((row.late for row in rows), reverse=True)
    assert {TODAY, ALL, "99.9 %", "99.99 %"} == {mark for row in rows for mark in row.marks}
    assert rows[0].delay_s == 0
    assert len(rows) <= 10


def test_delays_are_told_in_seconds_and_finer_where_the_pipeline_is() -> None:
    assert unit_ms_of(Windows(600_000, 600_000), 600_000) == 1000
    assert unit_ms_of(Windows(600_000, 600_000), 0) == 1000
    assert unit_ms_of(Windows(600_000, 600_000), 1500) == 500
    assert unit_ms_of(Windows(600_000, 250), 1000) == 250
