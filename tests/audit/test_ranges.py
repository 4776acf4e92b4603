"""Ranges that cover windows: exactly these, or few others where there would be too many. Pure."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.audit.ranges import covering, holds, merged
from anabranch.reprocess.plan import Range

SLIDE = 10
STARTS = st.sets(st.integers(-500, 500), max_size=80).map(lambda numbers: [number * SLIDE for number in sorted(numbers)])


@pytest.mark.parametrize(
    ("starts", "found"),
    [
        ([], []),
        ([0], [(0, 10)]),
        ([-20, -10, 10], [(-20, 0), (10, 20)]),
        ([0, 10, 20], [(0, 30)]),
    ],
)
def test_windows_that_follow_one_another_are_one_range(starts: list[int], found: list[tuple[int, int]]) -> None:
    assert covering(starts, SLIDE) == [Range(*one) for one in found]


@given(STARTS)
def test_where_there_are_few_exactly_these_windows_begin_in_them(starts: list[int]) -> None:
    found = covering(starts, SLIDE, most=80)
    assert [start for start in range(-5000, 5010, SLIDE) if holds(found, start)] == starts
    assert all(one.end_ms < two.start_ms for one, two in pairwise(found))
    assert merged(starts, SLIDE) == found


@given(STARTS, st.integers(1, 6))
def test_more_than_fit_into_a_condition_are_put_together(starts: list[int], most: int) -> None:
    found = covering(starts, SLIDE, most)
    assert len(found) <= most
    assert all(holds(found, start) for start in starts)
    # Nothing before the first, behind the last, or in ranges of no window.
    assert [found[0].start_ms, found[-1].end_ms] == [starts[0], starts[-1] + SLIDE] if starts else found == []
    assert all(one.start_ms in starts and one.end_ms - SLIDE in starts for one in found)


def test_what_lies_closest_is_put_together_first() -> None:
    assert covering([0, 20, 1000], SLIDE, most=2) == [Range(0, 30), Range(1000, 1010)]
