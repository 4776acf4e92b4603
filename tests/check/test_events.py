"""Events of a proof: in an order that a stream may see; and a counter-example that is made small."""

from __future__ import annotations

from datetime import timedelta
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from anabranch.check.events import Batches, closing_event, count_events, draw_batches
from anabranch.check.shrink import shrink
from anabranch.pipeline.builtin.visits_counter import VISITS_COUNTER

PIPELINE = VISITS_COUNTER
assert PIPELINE.watermark_s is not None
DELAY = timedelta(seconds=PIPELINE.watermark_s)


@given(st.integers(0, 10**9))
def test_no_event_comes_behind_the_watermark_of_those_before_it(seed: int) -> None:
    batches = draw_batches(PIPELINE, Random(seed), 30, 4)
    assert len(batches) == 4
    events = [event for batch in batches for event in batch]
    assert len(events) == 30
    for number, event in enumerate(events):
        assert all(event.time >= before.time - DELAY for before in events[:number])
    assert all(closing_event(PIPELINE, batches).time > event.time + DELAY for event in events)


def test_the_same_seed_draws_the_same() -> None:
    assert draw_batches(PIPELINE, Random(1), 30, 4) == draw_batches(PIPELINE, Random(1), 30, 4)
    assert draw_batches(PIPELINE, Random(1), 30, 4) != draw_batches(PIPELINE, Random(2), 30, 4)


@given(st.integers(0, 10**9), st.sets(st.integers(0, 29), min_size=1, max_size=4))
def test_a_counter_example_is_shrunk_to_the_events_that_it_needs(seed: int, needed: set[int]) -> None:
    batches = draw_batches(PIPELINE, Random(seed), 30, 3)
    events = [event for batch in batches for event in batch]
    wanted = [events[number] for number in needed]

    def fails(smaller: Batches) -> bool:
        left = [event for batch in smaller for event in batch]
        return all(any(one is event for event in left) for one in wanted)

    small = shrink(batches, fails, 1000)
    assert fails(small)
    assert count_events(small) == len(needed)
    assert all(small)
    assert fails(shrink(batches, fails, 3))
