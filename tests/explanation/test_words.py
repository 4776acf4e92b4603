"""What is told of one window, from values: numbers, words, and what is left out of a table that is too long."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from anabranch.audit.verdict import ClosedBy
from anabranch.checkpoint.timeline import Timeline
from anabranch.delta.stored import Newest, StoredRecord
from anabranch.explanation.build import Counts, Seen, explanation_of
from anabranch.explanation.explain import Rows, in_words
from anabranch.explanation.report import CorrectedBy, Explanation
from anabranch.pipeline.builtin.catalog import BUILTIN
from anabranch.pipeline.definition import find_pipeline

COUNTER = find_pipeline(BUILTIN.pipelines, "visits-counter")
SEVEN = datetime(2025, 9, 4, 7, tzinfo=UTC)
CAME = datetime(2025, 9, 4, 12, tzinfo=UTC)


def ms(minute: float) -> int:
    return round((SEVEN + timedelta(minutes=minute)).timestamp() * 1000)


# Batches 0 to 3 with the watermarks none, 07:05, 07:15 and 07:30, of 10 records each in both partitions.
TIMELINE = Timeline(
    first=0,
    watermarks_ms=[0, ms(5), ms(15), ms(30)],
    ends={0: [10, 20, 30, 40], 1: [10, 20, 30, 40]},
    begins={0: 0, 1: 0},
    floor_ms=None,
)


def told(minute: float, usable: Mapping[int, int], **about: Any) -> Explanation:
    """The window of 10 minutes that begins then, of which the batches have read so many records."""
    counts = Counts(usable, {}, 0, 0, 0)
    seen: dict[str, Any] = {
        "start_ms": ms(minute),
        "timeline": TIMELINE,
        "planned_at": {},
        "committed_at": {},
        "lake_version": 7,
        "behind": 0,
        "delay_ms": 600_000,
        "counts": counts,
        "late": [],
        "closed_by": None,
        "next_watermark_ms": None,
        "newest": [],
        "corrections": [],
    }
    return explanation_of(COUNTER, Seen(**{**seen, **about}))


def lines(found: Explanation) -> list[str]:
    return [part for part in in_words(found) if isinstance(part, str)]


def tables(found: Explanation) -> list[Rows]:
    return [part for part in in_words(found) if isinstance(part, Rows)]


def newest(partition: int, minute: float | None, offset: int = 39, silent_s: float = 0) -> Newest:
    event_us = None if minute is None else ms(minute) * 1000
    return Newest(partition, offset, CAME - timedelta(seconds=silent_s), event_us)


def test_a_batch_behind_the_one_that_ran_with_the_windows_end_drops_all_of_it() -> None:
    """07:00 to 07:10 is closed by batch 2, whose own records still count."""
    found = told(0, {0: 3, 2: 4, 3: 5})
    assert [(one.batch, one.counted, one.late) for one in found.batches] == [(0, 3, 0), (2, 4, 0), (3, 0, 5)]
    assert (found.state, found.usable, found.counted, found.late, found.unread) == ("closed", 12, 7, 5, 0)
    assert "12 in the lake = 7 counted + 5 late + 0 with problems" in lines(found)


def test_a_late_record_says_by_how_much_and_with_which_delay_it_would_have_counted() -> None:
    record = StoredRecord(partition=1, offset=35, event_us=ms(3) * 1000, record_time=CAME)
    found = told(0, {3: 1}, late=[record])
    (late,) = found.late_records
    # Batch 3 drops by the watermark of batch 2, 07:15: the greatest event time was 07:25, 15 minutes after the window's end.
    assert (late.record, late.batch, late.watermark) == ("visits:1:35", 3, "2025-09-04T07:15:00Z")
    assert (late.late_by_s, late.needed_delay_s) == (300, 15 * 60 + 1)
    (_, table) = tables(found)
    assert table.rows == [
        ("visits:1:35", "2025-09-04T07:03:00Z", "2025-09-04T12:00:00Z", "5m", "delay 15m1s", "3", "2025-09-04T07:15:00Z")
    ]


def test_what_the_stream_has_yet_to_read_of_a_closed_window_it_will_drop() -> None:
    record = StoredRecord(partition=0, offset=40, event_us=ms(3) * 1000, record_time=CAME)
    found = told(0, {0: 1, 4: 1}, late=[record])
    assert (found.counted, found.late, found.unread) == (1, 1, 1)
    assert found.late_records[0].batch is None
    assert "1 late record the stream has not read yet: it will drop it" in lines(found)


def test_of_many_batches_the_first_and_the_last_are_shown_with_the_sum_between() -> None:
    long = Timeline(0, [0] * 3000, {0: list(range(1, 3001))}, {0: 0}, None)
    found = told(0, dict.fromkeys(range(3000), 2), timeline=long)
    assert len(found.batches) == 3000
    table, _ = tables(found)
    assert [row[0] for row in table.rows] == [*map(str, range(10)), "...", *map(str, range(2990, 3000))]
    assert table.rows[10][1:] == ("2,980 more: --json lists them", "", "5,960", "0", "0")


def test_of_many_late_records_the_first_are_shown_and_it_is_said_how_many_there_are() -> None:
    records = [StoredRecord(0, 30 + n % 10, ms(1) * 1000, CAME) for n in range(1000)]
    found = told(0, {3: 1500}, late=records)
    assert len(tables(found)[1].rows) == 20
    assert "and 1,480 more late records; --json lists 1,000" in lines(found)


def test_of_a_window_that_closed_before_the_oldest_batch_nothing_is_made_up() -> None:
    purged = Timeline(2, [ms(15), ms(30)], {0: [30, 40], 1: [30, 40]}, {0: 20, 1: 20}, floor_ms=ms(11))
    found = told(0, {2: 3, 3: 1}, timeline=purged, counts=Counts({2: 3, 3: 1}, {3: 1}, 5, 2, 0))
    assert (found.state, found.usable, found.problems, found.counted, found.late) == ("unknown", 9, 3, None, None)
    assert [(one.counted, one.late) for one in found.batches] == [(None, None)] * 2
    said = lines(found)
    assert said[0].endswith("it closed before batch 2, the oldest that is known")
    assert "12 in the lake = 9 usable + 3 with problems: which of them were late is not known" in said
    assert tables(found)[0].rows[0][3:] == ("?", "?", "0")


def test_records_of_batches_that_are_no_longer_known_were_counted_where_the_window_closed_later() -> None:
    purged = Timeline(2, [ms(5), ms(30)], {0: [30, 40]}, {0: 20}, floor_ms=ms(1))
    closing = ClosedBy("2025-09-04T07:10:00Z", 3, "2025-09-04T07:30:00Z", None, None)
    found = told(0, {2: 3}, timeline=purged, counts=Counts({2: 3}, {}, 5, 0, 0), closed_by=closing)
    assert (found.state, found.counted, found.late) == ("closed", 8, 0)
    assert "          5 records came in batches before 2, of which no more is known: counted" in lines(found)
    assert any("moved by a record that is not known" in line for line in lines(found))


def test_an_open_window_waits_for_a_record_of_its_end_and_the_delay() -> None:
    found = told(30, {3: 2, 4: 1}, newest=[newest(0, 41), newest(1, 33, silent_s=720)])
    assert found.waits is not None
    assert (found.state, found.counted, found.unread, found.waits.event_time) == ("open", 2, 1, "2025-09-04T07:50:00Z")
    assert "3 in the lake = 2 counted + 1 not read yet + 0 with problems" in lines(found)
    assert lines(found)[-4:] == [
        "",
        "behind    partition 1 has no event of 2025-09-04T07:40:00Z or later: records of this window may still come from there",
        "          the window does not wait for that: the watermark follows the greatest event time of all partitions",
        "silent    partition 1 since 2025-09-04T11:48:00Z, 12m before the newest record of all",
    ]
    assert tables(found)[-1].rows == [
        ("0", "2025-09-04T07:41:00Z", "2025-09-04T12:00:00Z", "0s"),
        ("1", "2025-09-04T07:33:00Z", "2025-09-04T11:48:00Z", "12m"),
    ]


def test_a_partition_without_a_record_is_behind_and_how_long_it_is_silent_is_not_known() -> None:
    found = told(30, {3: 2}, newest=[newest(0, 45)])
    assert found.waits is not None
    assert [(one.partition, one.newest_arrival, one.silent_s, one.is_behind) for one in found.waits.partitions] == [
        (0, "2025-09-04T12:00:00Z", 0, False),
        (1, None, None, True),
    ]
    assert tables(found)[-1].rows[1] == ("1", "none", "none", "?")


def test_where_no_partition_has_come_to_the_end_none_is_blamed() -> None:
    found = told(30, {3: 2}, newest=[newest(0, 39), newest(1, 38)])
    assert lines(found)[-1] == "behind    no partition has an event of 2025-09-04T07:40:00Z or later yet"


def test_of_many_partitions_those_that_are_behind_are_shown() -> None:
    ends = {partition: [10, 20, 30, 40] for partition in range(100)}
    timeline = Timeline(0, TIMELINE.watermarks_ms, ends, dict.fromkeys(ends, 0), None)
    found = told(30, {}, timeline=timeline, newest=[newest(p, 31 if p in (70, 80) else 45) for p in ends])
    rows = tables(found)[-1].rows
    assert (len(rows), {"70", "80"} <= {row[0] for row in rows}) == (20, True)
    assert "and 80 more partitions; --json lists all" in lines(found)
    assert any("partition 70 and 1 more partition have no event" in line for line in lines(found))


def test_a_record_that_closes_it_is_said_to_be_read_or_yet_to_be_read() -> None:
    due = told(30, {3: 2}, next_watermark_ms=ms(40), newest=[newest(0, 50)])
    assert due.waits is not None
    assert (due.waits.is_due, due.waits.unread_in) == (True, ())
    assert "closes    a record of 2025-09-04T07:50:00Z or later has been read: the next batch emits its result" in lines(due)
    unread = told(30, {3: 2}, next_watermark_ms=ms(39), newest=[newest(0, 50, offset=40), newest(1, 50)])
    assert unread.waits is not None
    assert (unread.waits.is_due, unread.waits.unread_in) == (False, (0,))
    assert "          the lake has one in partition 0, which the stream has yet to read" in lines(unread)


def test_a_window_without_any_record_says_so() -> None:
    assert "The lake has no record of this window." in lines(told(0, {}))
    assert "1 in the lake = 0 counted + 0 late + 1 with problems" in lines(told(0, {}, counts=Counts({}, {1: 1}, 0, 0, 0)))


def test_operations_that_have_sent_its_results_are_named_with_what_they_did_not_know() -> None:
    correction = CorrectedBy("20251119T065900-repair-abcd", "repair", "2025-11-19T06:59:00Z", "done")
    found = told(0, {0: 1, 3: 2}, corrections=[correction], counts=Counts({0: 1, 3: 2}, {}, 0, 0, 1))
    assert lines(found)[-2:] == [
        "corrected by 20251119T065900-repair-abcd, begun 2025-11-19T06:59:00Z, done",
        "          1 record came after the last of them had read the lake: not in its results",
    ]


def test_where_the_lake_is_behind_it_is_said_up_to_which_batch_is_told() -> None:
    (note,) = told(0, {0: 1}, behind=2).notes
    assert (note.code, note.params) == ("lake-not-so-far", {"batches": 2, "last": 3})
