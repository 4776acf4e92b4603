"""The law of late records in its cheap form, compared with the law as it is written, on drawn timelines."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from anabranch.checkpoint.timeline import Timeline, TimelineBatch, timeline_of

PARTITIONS = range(3)


@st.composite
def drawn(draw: st.DrawFn) -> list[TimelineBatch]:
    """Oldest first: watermarks that never fall, offsets that never fall, a partition that may come later."""
    watermark, positions = 0, dict.fromkeys(PARTITIONS, 0)
    later_from = draw(st.integers(0, 4))
    batches = []
    for batch in range(draw(st.integers(1, 12))):
        present = [partition for partition in PARTITIONS if partition < 2 or batch >= later_from]
        reads = {partition: draw(st.integers(0, 3)) for partition in present}
        ranges = {partition: (positions[partition], positions[partition] + count) for partition, count in reads.items()}
        positions.update({partition: end for partition, (_, end) in ranges.items()})
        batches.append(TimelineBatch(batch, watermark, ranges))
        watermark += draw(st.sampled_from([0, 0, 5, 10, 17]))
    return batches


def whole(batches: list[TimelineBatch]) -> Timeline:
    found = timeline_of(batches[::-1])
    assert found is not None
    return found


@given(drawn(), st.integers(1, 150))
def test_a_record_is_late_by_its_cutoff_as_it_is_by_the_law(batches: list[TimelineBatch], end: int) -> None:
    timeline = whole(batches)
    cutoffs = timeline.cutoffs(end)
    for one in batches:
        dropping = batches[one.batch - 1].watermark_ms if one.batch else 0
        for partition, (first, until) in (one.ranges or {}).items():
            for offset in range(first, until):
                assert timeline.batch_of(partition, offset) == one.batch
                assert timeline.dropping_watermark_ms(one.batch) == dropping
                assert (cutoffs is not None and offset >= cutoffs[partition]) == (end <= dropping)


@given(drawn(), st.integers(1, 150))
def test_every_record_that_is_still_to_come_is_late_for_a_closed_window_alone(batches: list[TimelineBatch], end: int) -> None:
    timeline = whole(batches)
    cutoffs = timeline.cutoffs(end)
    assert (cutoffs is not None) == timeline.is_closed(end) == (end <= batches[-1].watermark_ms)
    for partition, unread in timeline.read.items():
        assert timeline.batch_of(partition, unread) == batches[-1].batch + 1
        assert cutoffs is None or cutoffs[partition] <= unread


@given(drawn(), st.data())
def test_a_part_of_the_history_says_the_same_of_the_windows_that_it_knows(
    batches: list[TimelineBatch], data: st.DataObject
) -> None:
    """Lines of an earlier version have no ranges; a line may be lost."""
    known_from = data.draw(st.integers(0, len(batches) - 1))
    is_lost = data.draw(st.booleans())
    kept = [TimelineBatch(one.batch, one.watermark_ms, one.ranges if one.batch >= known_from else None) for one in batches]
    if is_lost and known_from:
        del kept[known_from - 1]
    part, all_known = whole(kept), whole(batches)
    assert part.first == known_from
    for end in range(1, 150):
        if part.is_known(end):
            cutoffs, expected = part.cutoffs(end), all_known.cutoffs(end)
            assert (cutoffs is None) == (expected is None)
            assert cutoffs is None or expected is None or all(expected[partition] == cut for partition, cut in cutoffs.items())


def test_a_history_that_does_not_know_its_newest_batch_has_no_timeline() -> None:
    assert timeline_of([TimelineBatch(3, 10, None), TimelineBatch(2, 10, {0: (0, 1)})]) is None
    assert timeline_of([]) is None


@given(drawn(), st.data())
def test_a_timeline_that_is_cut_is_the_one_that_stood_then(batches: list[TimelineBatch], data: st.DataObject) -> None:
    last = data.draw(st.integers(0, len(batches) - 1))
    then, cut = whole(batches[: last + 1]), whole(batches).cut(last)
    assert (cut.last, cut.watermark_ms) == (last, then.watermark_ms)
    assert all(cut.read[partition] == end for partition, end in then.read.items())
