"""The fold over visits, on plain values."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from anabranch.pipeline.builtin.session_fold import (
    TIMEOUT_MS,
    Bucket,
    Pages,
    Visit,
    VisitResult,
    expire,
    from_text,
    next_timer_ms,
    to_text,
    update,
)

MINUTE = 60_000
SEVEN = 1756969200000  # 2025-09-04T07:00Z


def test_pages_add_up_and_each_update_gives_an_early_result() -> None:
    bucket, results = update({}, {"1": Pages(1, SEVEN)}, 0)
    assert results == [VisitResult("1", 1, False)]
    bucket, results = update(bucket, {"1": Pages(2, SEVEN + MINUTE), "2": Pages(1, SEVEN)}, SEVEN - 15 * MINUTE)
    assert results == [VisitResult("1", 3, False), VisitResult("2", 1, False)]


def test_the_timer_stands_ten_minutes_past_the_watermark_of_the_last_update() -> None:
    bucket, _ = update({}, {"1": Pages(1, SEVEN)}, SEVEN - 15 * MINUTE)
    assert next_timer_ms(bucket) == SEVEN - 5 * MINUTE
    bucket, _ = update(bucket, {"1": Pages(1, SEVEN)}, SEVEN)
    assert next_timer_ms(bucket) == SEVEN + 10 * MINUTE


def test_without_a_watermark_the_timer_follows_the_latest_event_and_never_goes_back() -> None:
    bucket, _ = update({}, {"1": Pages(1, SEVEN)}, 0)
    assert next_timer_ms(bucket) == SEVEN + TIMEOUT_MS
    bucket, _ = update(bucket, {"1": Pages(1, SEVEN - MINUTE)}, 0)
    assert next_timer_ms(bucket) == SEVEN + TIMEOUT_MS


def test_a_visit_is_over_when_the_watermark_reaches_its_timer_and_is_then_forgotten() -> None:
    bucket, _ = update({}, {"1": Pages(3, SEVEN), "2": Pages(1, SEVEN + MINUTE)}, 0)
    same, nothing = expire(bucket, SEVEN + TIMEOUT_MS - 1)
    assert (same, nothing) == (bucket, [])
    left, results = expire(bucket, SEVEN + TIMEOUT_MS)
    assert results == [VisitResult("1", 3, True)]
    assert set(left) == {"2"}
    _, again = update(left, {"1": Pages(1, SEVEN)}, SEVEN + TIMEOUT_MS)
    assert again == [VisitResult("1", 1, False)]


def test_an_empty_bucket_has_no_timer() -> None:
    assert next_timer_ms({}) is None


visit_ids = st.one_of(st.none(), st.text(max_size=3))
events = st.lists(st.tuples(visit_ids, st.integers(0, 100)), max_size=30)


@given(events, st.lists(st.integers(0, 30), max_size=5))
def test_however_the_records_are_cut_into_batches_the_final_result_is_the_same(
    records: list[tuple[str | None, int]], cuts: list[int]
) -> None:
    assert _final(records, []) == _final(records, cuts)


def _final(records: list[tuple[str | None, int]], cuts: list[int]) -> list[VisitResult]:
    bucket: Bucket = {}
    edges = [0, *sorted(cut for cut in cuts if cut < len(records)), len(records)]
    for start, end in pairwise(edges):
        batch: dict[str | None, Pages] = {}
        for visit_id, minute in records[start:end]:
            before = batch.get(visit_id, Pages(0, 0))
            batch[visit_id] = Pages(before.number + 1, max(before.latest_event_ms, SEVEN + minute * MINUTE))
        bucket, _ = update(bucket, batch, 0)
    _, results = expire(bucket, SEVEN + 10**9)
    return sorted(results, key=repr)


@given(st.dictionaries(visit_ids, st.tuples(st.integers(1, 10**6), st.integers(0, 2**50)), max_size=10))
def test_a_bucket_survives_its_way_through_the_state_store(entries: dict[str | None, tuple[int, int]]) -> None:
    bucket = {visit_id: Visit(*entry) for visit_id, entry in entries.items()}
    assert from_text(to_text(bucket)) == bucket
    assert from_text(None) == {}
