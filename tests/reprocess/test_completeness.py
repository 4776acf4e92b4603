"""Whether the lake has all that a stream has read: by offsets, with holes told apart from loss."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from hypothesis import given
from hypothesis import strategies as st

from anabranch.delta.held import held_offsets, may_have_lost_rows, missing_offsets
from anabranch.errors import Refused
from anabranch.reprocess.completeness import Gap, Loss, check_complete, gaps_of, inside, outside, still_to_prove

ranges = st.dictionaries(st.integers(0, 2), st.tuples(st.integers(0, 20), st.integers(0, 20)))
gaps = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 20), st.integers(1, 9)).map(lambda at: Gap(at[0], at[1], at[1] + at[2]))
)


def _offsets(found: list[Gap]) -> list[tuple[int, int]]:
    return sorted((gap.partition, offset) for gap in found for offset in range(gap.first, gap.end))


@given(gaps, ranges)
def test_every_offset_of_a_gap_is_inside_or_outside_of_the_ranges_and_in_none_twice(
    found: list[Gap], within: dict[int, tuple[int, int]]
) -> None:
    within = {partition: (first, max(first, end)) for partition, (first, end) in within.items()}
    ins, outs = list(inside(found, within)), list(outside(found, within))
    assert sorted(_offsets(ins) + _offsets(outs)) == _offsets(found)
    assert all(within[p][0] <= offset < within[p][1] for p, offset in _offsets(ins))
    assert not any(p in within and within[p][0] <= offset < within[p][1] for p, offset in _offsets(outs))


@pytest.mark.parametrize(
    ("losses", "code", "way"),
    [
        ([Loss(Gap(0, 10, 12), True)], "lake-behind", None),
        ([Loss(Gap(0, 0, 3), True)], "lake-incomplete", "write-new-lake"),
        ([Loss(Gap(0, 10, 12), True), Loss(Gap(1, 5, 6), True)], "lake-incomplete", "write-new-lake"),
        ([Loss(Gap(0, 0, 3), False)], "lake-incomplete", "not-recomputable"),
    ],
)
def test_a_loss_is_refused_with_its_offsets_and_what_can_be_done(losses: list[Loss], code: str, way: str | None) -> None:
    with pytest.raises(Refused) as refused:
        check_complete("visits-counter", "visits-lake", losses, {0: 10, 1: 20})
    params = refused.value.reason.params
    assert refused.value.code == code
    assert [(one.params["partition"], one.params["first"], one.params["last"]) for one in params["missing"]] == [
        (loss.gap.partition, loss.gap.first, loss.gap.end - 1) for loss in losses
    ]
    assert [one.code for one in params.get("ways", [])] == ([way] if way else [])


def test_what_follows_the_last_gap_that_was_listed_is_not_taken_for_complete() -> None:
    found = [(0, 3), (5, 7)]
    assert gaps_of(1, found, 20, 3) == [Gap(1, 0, 3), Gap(1, 5, 7)]
    assert gaps_of(1, found, 20, 2) == [Gap(1, 0, 3), Gap(1, 5, 7), Gap(1, 7, 20)]
    assert gaps_of(1, found, 7, 2) == [Gap(1, 0, 3), Gap(1, 5, 7)]
    assert gaps_of(1, [], 20, 2) == []


def test_many_losses_are_counted_and_some_are_named() -> None:
    losses = [Loss(Gap(0, 10 * n, 10 * n + 2), True) for n in range(50)]
    with pytest.raises(Refused) as refused:
        check_complete("visits-counter", "visits-lake", losses, {0: 1000})
    assert refused.value.reason.params["missing"][-1].params == {"ranges": 45, "count": 90}
    check_complete("visits-counter", "visits-lake", [], {})


@given(ranges, ranges)
def test_what_was_proven_need_not_be_proven_again(read: dict[int, tuple[int, int]], proven: dict[int, tuple[int, int]]) -> None:
    read, proven = ({p: (a, max(a, b)) for p, (a, b) in one.items()} for one in (read, proven))
    wanted = still_to_prove(read, proven)
    for partition, (first, end) in read.items():
        covered = set(range(*proven.get(partition, (0, 0)))) | set(range(*wanted.get(partition, (0, 0))))
        assert set(range(first, end)) <= covered
        assert set(range(*wanted.get(partition, (0, 0)))) <= set(range(first, end))
    assert still_to_prove(read, read) == {}


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Partition 0 has 3, 4, 7 (twice) and 9, partition 1 has 0."""
    offsets = [(0, 3), (0, 4), (0, 7), (0, 7), (0, 9), (1, 0)]
    times = pa.array([datetime(2025, 9, 4, 7, offset, tzinfo=UTC) for _, offset in offsets], pa.timestamp("us", "UTC"))
    rows = {
        "topic": pa.array(["it's"] * len(offsets)),
        "partition": pa.array([partition for partition, _ in offsets], pa.int32()),
        "offset": pa.array([offset for _, offset in offsets], pa.int64()),
        "record_time": times,
    }
    write_deltalake(tmp_path / "lake", pa.table(rows))
    return tmp_path / "lake"


def test_what_a_table_holds_of_a_topic_is_counted_by_offset(lake: Path) -> None:
    held = held_offsets(lake, "it's")
    assert {p: (one.first, one.end, one.count) for p, one in held.items()} == {0: (3, 10, 4), 1: (0, 1, 1)}
    assert held[0].last_time == datetime(2025, 9, 4, 7, 9, tzinfo=UTC)
    assert {p: one.count for p, one in held_offsets(lake, "it's", {0: (4, 8), 1: (1, None)}).items()} == {0: 2}
    assert held_offsets(lake, "other") == held_offsets(lake.parent / "nowhere", "it's") == {}


def test_the_gaps_of_a_table_are_found_at_both_ends_and_in_between(lake: Path) -> None:
    assert missing_offsets(lake, "it's", 0, 0, 12, 0, 100) == [(0, 3), (5, 7), (8, 9), (10, 12)]
    assert missing_offsets(lake, "it's", 0, 0, 12, 0, 2) == [(0, 3), (5, 7)]
    assert missing_offsets(lake, "it's", 0, 3, 5, 0, 100) == []
    assert missing_offsets(lake, "it's", 2, 0, 5, 0, 100) == [(0, 5)]


def test_only_a_commit_that_deletes_rows_or_is_gone_makes_a_proof_worthless(lake: Path) -> None:
    row = DeltaTable(lake).to_pyarrow_table().slice(0, 1)
    write_deltalake(lake, row, mode="append")
    DeltaTable(lake).optimize.compact()
    assert not may_have_lost_rows(lake, 0, 2)
    DeltaTable(lake).delete('"offset" = 9')
    assert may_have_lost_rows(lake, 0, 3)
    assert not may_have_lost_rows(lake, 3, 3)
    (lake / "_delta_log" / f"{1:020}.json").unlink()
    assert may_have_lost_rows(lake, 0, 2)
    assert not may_have_lost_rows(lake, 1, 2)
