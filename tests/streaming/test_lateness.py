"""Late records from a histogram of windows: the same number as one by one, however the bins of tasks are put together."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from anabranch.pipeline.windows import Windows
from anabranch.streaming.lateness import BINS, count_late, moved_ms

WINDOW_MS = 600_000
WINDOWS = Windows(WINDOW_MS, WINDOW_MS)
FIRST = 2_928_282  # of 2025-09-04T07:00Z

times_ms = st.integers(0, 20 * WINDOW_MS).map(lambda past_ms: FIRST * WINDOW_MS + past_ms)


@given(
    st.lists(st.tuples(times_ms, st.integers(0, 3)), max_size=60),
    st.integers(-1, 22 * WINDOW_MS).map(lambda past_ms: FIRST * WINDOW_MS + past_ms),
    st.floats(-0.4, 0.4),
)
def test_the_records_of_windows_that_end_at_or_before_the_watermark_are_late(
    records: list[tuple[int, int]], watermark_ms: int, error: float
) -> None:
    """Each task has bins of its own; an average of equal numbers may be a little off."""
    bins = Counter((task, event_ms // WINDOW_MS) for event_ms, task in records)
    late, is_exact = count_late([(number + error, count) for (_, number), count in bins.items()], WINDOWS, watermark_ms)
    one_by_one = sum((event_ms // WINDOW_MS + 1) * WINDOW_MS <= watermark_ms for event_ms, _ in records)
    assert (late, is_exact) == (one_by_one, True)


def test_without_a_watermark_nothing_is_late_whatever_the_bins() -> None:
    bins = [(float(number), 2.0) for number in range(BINS)]
    assert count_late(bins, WINDOWS, 0) == (0, True)


def test_where_no_bin_is_free_windows_may_share_one_and_the_number_is_not_exact() -> None:
    bins = [(float(number), 2.0) for number in range(BINS)]
    assert count_late(bins[1:], WINDOWS, 10 * WINDOW_MS) == (18, True)
    assert count_late(bins, WINDOWS, 10 * WINDOW_MS) == (20, False)


def test_a_first_watermark_has_moved_by_nothing() -> None:
    assert (moved_ms(0, 5), moved_ms(3, 5), moved_ms(5, 3)) == (0, 2, 0)


@given(st.integers(1, 12), st.integers(1, 12), st.lists(st.integers(0, 300), max_size=40), st.integers(1, 320))
def test_of_windows_that_overlap_a_record_is_late_if_the_first_of_them_lacks_it(
    length: int, slide: int, events: list[int], watermark: int
) -> None:
    windows = Windows(length, min(slide, length))
    bins = Counter(event // windows.bin_ms for event in events)
    one_by_one = sum(
        min(start for start in range(-length, event + 1) if start % windows.slide_ms == 0 and event < start + length) + length
        <= watermark
        for event in events
    )
    assert count_late(list(bins.items()), windows, watermark) == (one_by_one, True)
