"""The fold over visits, on plain values."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from anabranch.pipeline.builtin.session_chunks import Bucket
from anabranch.pipeline.builtin.session_fold import TIMEOUT_MS, Pages, VisitResult, expire, update

MINUTE = 60_000
SEVEN = 1756969200000  # 2025-09-04T07:00Z


def updated(bucket: Bucket, batch: dict[str | None, Pages], watermark_ms: int) -> tuple[Bucket, list[VisitResult]]:
    changes, results = update(bucket, batch, watermark_ms)
    return bucket.changed(changes), results


def expired(bucket: Bucket, watermark_ms: int) -> tuple[Bucket, list[VisitResult]]:
    changes, results = expire(bucket, watermark_ms)
    return bucket.changed(changes), results


def test_pages_add_up_and_each_update_gives_an_early_result() -> None:
    bucket, results = updated(Bucket(), {"1": Pages(1, SEVEN)}, 0)
    assert results == [VisitResult("1", 1, False)]
    bucket, results = updated(bucket, {"1": Pages(2, SEVEN + MINUTE), "2": Pages(1, SEVEN)}, SEVEN - 15 * MINUTE)
    assert results == [VisitResult("1", 3, False), VisitResult("2", 1, False)]


def test_the_timer_stands_ten_minutes_past_the_watermark_of_the_last_update() -> None:
    bucket, _ = updated(Bucket(), {"1": Pages(1, SEVEN)}, SEVEN - 15 * MINUTE)
    assert bucket.next_timer_ms == SEVEN - 5 * MINUTE
    bucket, _ = updated(bucket, {"1": Pages(1, SEVEN)}, SEVEN)
    assert bucket.next_timer_ms == SEVEN + 10 * MINUTE


def test_without_a_watermark_the_timer_follows_the_latest_event_and_never_goes_back() -> None:
    bucket, _ = updated(Bucket(), {"1": Pages(1, SEVEN)}, 0)
    assert bucket.next_timer_ms == SEVEN + TIMEOUT_MS
    bucket, _ = updated(bucket, {"1": Pages(1, SEVEN - MINUTE)}, 0)
    assert bucket.next_timer_ms == SEVEN + TIMEOUT_MS


def test_a_visit_is_over_when_the_watermark_reaches_its_timer_and_is_then_forgotten() -> None:
    bucket, _ = updated(Bucket(), {"1": Pages(3, SEVEN), "2": Pages(1, SEVEN + MINUTE)}, 0)
    same, nothing = expired(bucket, SEVEN + TIMEOUT_MS - 1)
    assert (same, nothing) == (bucket, [])
    left, results = expired(bucket, SEVEN + TIMEOUT_MS)
    assert results == [VisitResult("1", 3, True)]
    assert set(left.visits()) == {"2"}
    _, again = updated(left, {"1": Pages(1, SEVEN)}, SEVEN + TIMEOUT_MS)
    assert again == [VisitResult("1", 1, False)]


def test_an_earlier_timer_of_a_visit_that_is_over_does_not_bring_it_back() -> None:
    # Its first timer is of its event, its second of the watermark: an earlier one. Others stay, so nothing is merged.
    others: dict[str | None, Pages] = {f"other-{number}": Pages(1, SEVEN + 60 * MINUTE) for number in range(8)}
    bucket, _ = updated(Bucket(), {"1": Pages(1, SEVEN), **others}, 0)
    bucket, _ = updated(bucket, {"1": Pages(1, SEVEN)}, SEVEN - 15 * MINUTE)
    bucket, results = expired(bucket, SEVEN)
    assert results == [VisitResult("1", 2, True)]
    assert bucket.get("1") is None
    assert expired(bucket, SEVEN + TIMEOUT_MS)[1] == []


visit_ids = st.one_of(st.none(), st.text(max_size=3))
events = st.lists(st.tuples(visit_ids, st.integers(0, 100)), max_size=60)


@given(events, st.lists(st.integers(0, 60), max_size=40))
def test_however_the_records_are_cut_into_batches_the_final_result_is_the_same(
    records: list[tuple[str | None, int]], cuts: list[int]
) -> None:
    assert _final(records, []) == _final(records, cuts)


def _final(records: list[tuple[str | None, int]], cuts: list[int]) -> list[VisitResult]:
    bucket = Bucket()
    edges = [0, *sorted(cut for cut in cuts if cut < len(records)), len(records)]
    for start, end in pairwise(edges):
        batch: dict[str | None, Pages] = {}
        for visit_id, minute in records[start:end]:
            before = batch.get(visit_id, Pages(0, 0))
            batch[visit_id] = Pages(before.number + 1, max(before.latest_event_ms, SEVEN + minute * MINUTE))
        bucket, _ = updated(bucket, batch, 0)
    bucket, results = expired(bucket, SEVEN + 10**9)
    assert bucket.chunks == ()
    return sorted(results, key=repr)
