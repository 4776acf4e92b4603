"""What the logs tell of a batch: its ranges, when it was planned, its watermark; and nothing where they do not tell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.checkpoint.checkpoint import Checkpoint
from anabranch.checkpoint.figures import counting
from anabranch.checkpoint.history import BatchRecord, append_batch, append_rewind, append_undo, newest_first
from anabranch.checkpoint.logged import Ranges, logged
from anabranch.checkpoint.reader import read_batch, read_logs
from anabranch.checkpoint.reconcile import reconcile
from anabranch.storage.files import CheckpointLocation
from tests.support.drawing import Tree, checkpoint_of, draw, without, write_tree

Ends = dict[str, dict[str, int]]
BEGIN_MS = 1_757_606_666_015


def tree_of(initial: list[Ends | None], ends: list[list[Ends]]) -> Tree:
    """Each batch with the ends of each of its sources, all committed."""
    tree = {f"sources/{place}/0": f"v1\n{json.dumps(begin)}" for place, begin in enumerate(initial) if begin is not None}
    for batch, sources in enumerate(ends):
        head = {"batchWatermarkMs": 1000 * batch, "batchTimestampMs": BEGIN_MS + batch, "conf": {}}
        tree[f"offsets/{batch}"] = "\n".join(["v1", json.dumps(head), *map(json.dumps, sources)])
        tree[f"commits/{batch}"] = f'v1\n{{"nextBatchWatermarkMs":{1000 * (batch + 1)}}}'
    return tree


def logs_of(initial: Ends | None, *ends: Ends) -> Checkpoint:
    return checkpoint_of(tree_of([initial], [[one] for one in ends]))


def test_every_partition_is_listed_also_where_nothing_was_read() -> None:
    begin, end = {"visits": {"0": 5, "1": 7}}, {"visits": {"0": 9, "1": 7}}
    logs = logs_of(begin, end, end)
    assert logged(logs, 0).ranges == {"visits": {0: (5, 9), 1: (7, 7)}}
    # A batch without data: its position is known all the same.
    assert logged(logs, 1).ranges == {"visits": {0: (9, 9), 1: (7, 7)}}
    assert (logged(logs, 0).records, logged(logs, 1).records) == (4, 0)
    assert (logged(logs, 0).watermark, logged(logs, 1).watermark) == (None, "1970-01-01T00:00:01Z")
    assert logged(logs, 1).planned_at == "2025-09-11T16:04:26.016Z"


def test_a_partition_that_is_new_is_read_from_its_first_record() -> None:
    logs = logs_of({"visits": {"0": 5}}, {"visits": {"0": 9}}, {"visits": {"0": 9, "1": 3}})
    assert logged(logs, 1).ranges == {"visits": {0: (9, 9), 1: (0, 3)}}


def test_of_several_topics_each_begins_where_its_own_source_began(tmp_path: Path) -> None:
    begins: list[Ends | None] = [{"orders": {"0": 100}}, {"visits": {"0": 40, "1": 50}}]
    tree = tree_of(begins, [[{"orders": {"0": 103}}, {"visits": {"0": 40, "1": 51}}]])
    expected = {"orders": {0: (100, 103)}, "visits": {0: (40, 40), 1: (50, 51)}}
    storage = CheckpointLocation(write_tree(tree, tmp_path / "console")).storage()
    for logs in (checkpoint_of(tree), read_logs(storage), read_batch(storage, 0)):
        assert logged(logs, 0).ranges == expected


@pytest.mark.parametrize(
    "logs",
    [
        checkpoint_of({}),
        # Where it began is not known: the topic may have been read from its latest record.
        logs_of(None, {"visits": {"0": 9}}),
        checkpoint_of(draw(source="rate")),
        checkpoint_of(draw(source="file")),
        # Offsets that went back.
        logs_of({"visits": {"0": 5}}, {"visits": {"0": 4}}),
        # One topic that is read twice: to which of the two a range belongs does not show.
        checkpoint_of(tree_of([{"visits": {"0": 0}}, {"visits": {"0": 1}}], [[{"visits": {"0": 2}}, {"visits": {"0": 2}}]])),
        checkpoint_of({"offsets/0": "garbage", "sources/0/0": "garbage"}),
    ],
)
def test_what_the_logs_do_not_tell_is_not_known(logs: Checkpoint) -> None:
    told = logged(logs, 0)
    assert (told.ranges, told.records) == (None, None)


def test_without_the_batch_before_it_where_a_batch_began_is_not_known() -> None:
    drawn = draw()
    assert logged(checkpoint_of(drawn), 3).ranges == {"visits": {0: (30, 40), 1: (15, 20)}}
    told = logged(checkpoint_of(without(drawn, "offsets/2")), 3)
    assert (told.ranges, told.planned_at is None) == (None, False)
    assert logged(checkpoint_of(without(drawn, "offsets/3")), 3).planned_at is None


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=8))
def test_the_ranges_of_batches_are_contiguous_and_no_offset_is_in_two(steps: list[tuple[int, int]]) -> None:
    end, ends = [3, 4], []
    for step in steps:
        end = [last + read for last, read in zip(end, step, strict=True)]
        ends.append({"visits": {str(partition): last for partition, last in enumerate(end)}})
    logs = logs_of({"visits": {"0": 3, "1": 4}}, *ends)
    position = {0: 3, 1: 4}
    for batch, step in enumerate(steps):
        told = logged(logs, batch)
        assert told.ranges is not None
        assert {partition: first for partition, (first, _) in told.ranges["visits"].items()} == position
        assert told.records == sum(step)
        position = {partition: end for partition, (_, end) in told.ranges["visits"].items()}


def _ranges(location: CheckpointLocation) -> dict[int, Ranges | None]:
    """Of the batches that count, oldest first; each must count once."""
    found = [(entry.batch, entry.ran.ranges) for entry in counting(newest_first(location)) if entry.ran is not None]
    assert len(dict(found)) == len(found)
    return dict(reversed(found))


def test_a_rewind_and_its_undo_keep_the_ranges_of_the_batches_that_count(tmp_path: Path) -> None:
    def logs(*ends: int) -> Checkpoint:
        return logs_of({"visits": {"0": 0}}, *({"visits": {"0": end}} for end in ends))

    location = CheckpointLocation(tmp_path / "console")
    before = [10, 20, 20, 40]
    reconcile(location, logs(*before))
    first = {batch: {"visits": {0: ends}} for batch, ends in enumerate([(0, 10), (10, 20), (20, 20), (20, 40)])}
    assert _ranges(location) == first
    append_rewind(location, "r1", 1)
    assert _ranges(location) == {0: first[0]}
    append_undo(location, "u1", "r1")
    assert _ranges(location) == first
    # Run again after another rewind, batches read other ranges.
    append_rewind(location, "r2", 1)
    again = logs(10, 13, 17)
    append_batch(location, BatchRecord(1, "2025-09-11T16:04:26Z", 3, 0, 0, True, 1.0, 20, None, None, logged(again, 1).ranges))
    reconcile(location, again)
    assert _ranges(location) == {0: first[0], 1: {"visits": {0: (10, 13)}}, 2: {"visits": {0: (13, 17)}}}
