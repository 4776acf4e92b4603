"""Late records from a histogram of windows: the same number as one by one, however the bins of tasks are put together."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from anabranch.streaming.lateness import BINS, count_late, moved_ms

WINDOW_MS = 600_000
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
    late, is_exact = count_late([(number + error, count) for (_, number), count in bins.items()], WINDOW_MS, watermark_ms)
    one_by_one = sum((event_ms // WINDOW_MS + 1) * WINDOW_MS <= watermark_ms for event_ms, _ in records)
    assert (late, is_exact) == (one_by_one, True)


def test_without_a_watermark_nothing_is_late_whatever_the_bins() -> None:
    bins = [(float(number), 2.0) for number in range(BINS)]
    assert count_late(bins, WINDOW_MS, 0) == (0, True)


def test_where_no_bin_is_free_windows_may_share_one_and_the_number_is_not_exact() -> None:
    bins = [(float(number), 2.0) for number in range(BINS)]
    assert count_late(bins[1:], WINDOW_MS, 10 * WINDOW_MS) == (18, True)
    assert count_late(bins, WINDOW_MS, 10 * WINDOW_MS) == (20, False)


def test_a_first_watermark_has_moved_by_nothing() -> None:
    assert (moved_ms(0, 5), moved_ms(3, 5), moved_ms(5, 3)) == (0, 2, 0)
