"""The chunks of a bucket: whatever was merged, they say what a plain dictionary would, and a batch writes little."""

from __future__ import annotations

import json
import random

from hypothesis import given
from hypothesis import strategies as st

from anabranch.pipeline.builtin.session_chunks import (
    FAN,
    Bucket,
    first_difference,
    from_columns,
    from_text,
    merge_start,
    to_columns,
)
from anabranch.pipeline.builtin.session_fold import Visit

visit_ids = st.one_of(st.none(), st.text(max_size=2), st.sampled_from("abcd"))
visits = st.builds(Visit, st.integers(1, 10**6), st.integers(-(2**50), 2**50))
changes = st.dictionaries(visit_ids, st.one_of(st.none(), visits), max_size=6)


@given(st.lists(changes, max_size=60))
def test_a_bucket_is_what_its_changes_make_of_a_dictionary(batches: list[dict[str | None, Visit | None]]) -> None:
    bucket, store, expected = Bucket(), dict[int, tuple[str, bytes, bytes]](), dict[str | None, Visit]()
    for batch in batches:
        expected = {visit_id: visit for visit_id, visit in {**expected, **batch}.items() if visit is not None}
        after = bucket.changed(batch)
        _write(store, bucket, after)
        # What the next batch reads is what this one wrote.
        bucket = Bucket.of(from_columns(*store[place]) for place in sorted(store))
        for found in (after, bucket):
            assert found.visits() == expected
            assert all(found.get(visit_id) == expected.get(visit_id) for visit_id in batch)
            assert found.next_timer_ms == min((visit.timer_ms for visit in expected.values()), default=None)
        assert sum(len(chunk.pages) for chunk in bucket.chunks) <= 2 * len(expected)


def _write(store: dict[int, tuple[str, bytes, bytes]], before: Bucket, after: Bucket) -> int:
    """As the processor does it; the entries that were written."""
    first = first_difference(before.chunks, after.chunks)
    for place in range(first, max(len(before.chunks), len(after.chunks))):
        store.pop(place, None)
    store.update({place: to_columns(chunk) for place, chunk in enumerate(after.chunks) if place >= first})
    return sum(len(chunk.pages) for chunk in after.chunks[first:])


def test_what_a_batch_writes_is_near_to_what_it_touches_in_large_and_in_small_batches() -> None:
    open_visits = 20_000
    for touched, most in ((1_000, 2.5), (100, 3.5), (10, 4.5)):
        chance, bucket = random.Random(1), Bucket().changed({str(n): Visit(1, n) for n in range(open_visits)})
        written, batches = 0, 300
        for number in range(batches):
            batch: dict[str | None, Visit] = {str(n): Visit(2, number) for n in chance.sample(range(open_visits), touched)}
            after = bucket.changed(batch)
            written += _write({}, bucket, after)
            bucket = after
            assert len(bucket.chunks) < 4 * FAN
        assert written / batches / touched < most


def test_visits_that_come_and_go_leave_nothing_behind() -> None:
    bucket, most = Bucket(), 0
    for number in range(200):
        bucket = bucket.changed({f"{number}-{n}": Visit(1, number) for n in range(10)})
        bucket = bucket.changed(dict.fromkeys(bucket.due(number - 5)))
        most = max(most, sum(len(chunk.pages) for chunk in bucket.chunks))
    assert len(bucket.visits()) == 50
    assert most <= 2 * 60
    assert bucket.changed(dict.fromkeys(bucket.visits())).chunks == ()


@given(st.lists(st.integers(1, 10**5), min_size=1, max_size=200))
def test_chunks_stay_few(sizes: list[int]) -> None:
    kept: list[int] = []
    for size in sizes:
        kept.append(size)
        start = merge_start(kept)
        kept = [*kept[:start], sum(kept[start:])]
    assert sum(kept) == sum(sizes)
    levels = len(f"{sum(sizes):x}")
    assert len(kept) <= (FAN - 1) * levels


def test_what_0_2_0_kept_is_read() -> None:
    text = json.dumps({'"1"': (3, 1756969200000), '"\\u00e9\\""': (1, 5), "null": (2, 7), '"null"': (4, 9)})
    assert Bucket.of([from_text(text)]).visits() == {
        "1": Visit(3, 1756969200000),
        'é"': Visit(1, 5),
        None: Visit(2, 7),
        "null": Visit(4, 9),
    }
