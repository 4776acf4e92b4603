"""What a rewind would do, decided on drawn checkpoints: the batch that is meant, the files that go, the refusals, the words."""

from __future__ import annotations

import pytest

from anabranch.checkpoint.checkpoint import Checkpoint
from anabranch.checkpoint.offsets import OffsetRange
from anabranch.errors import Misused, Refused
from anabranch.operations.change import (
    DeleteRows,
    LeaveSink,
    RestoreRows,
    SinkPart,
    WrittenRows,
    fingerprint,
    steps,
    steps_back,
)
from anabranch.rewind.explain import explain, explain_undo, sink_words
from anabranch.rewind.plan import Mode, RewindPlan, check_restartable, files_beyond, plan_rewind, possible, verify_rewind
from anabranch.rewind.target import ToBatch, ToEventTime, ToOffset, ToTime, batch_for, parse_offset_target
from anabranch.rewind.undo import plan_undo
from tests.support.drawing import BEGIN_MS, JOIN, TRIGGER_MS, checkpoint_of, draw, offsets, without

ROWS = WrittenRows("/lake", "op", "query", {"visits": {"0": (30, 90), "1": (15, 45)}}, 90, 8, 8, 2)


def plan(checkpoint: Checkpoint, batch: int, mode: Mode = "replay", sink: SinkPart | None = None) -> RewindPlan:
    return plan_rewind(checkpoint, batch, mode, operation="op", sink=sink or LeaveSink("nothing"), pipeline="visits-windows")


@pytest.mark.parametrize(
    ("target", "batch"),
    [
        (ToBatch(3), 3),
        (ToTime(BEGIN_MS + 3 * TRIGGER_MS), 3),
        (ToTime(BEGIN_MS + 3 * TRIGGER_MS + 1), 4),
        (ToTime(0), 0),
        # Batch n leaves a watermark of BEGIN + n triggers: with this delay it has seen events of so much later.
        (ToEventTime(BEGIN_MS + 60_000 + 4 * TRIGGER_MS, 60_000), 4),
        (ToEventTime(BEGIN_MS + 60_000 + 4 * TRIGGER_MS + 1, 60_000), 5),
        (ToEventTime(BEGIN_MS, 60_000), 0),
        # Partition 0 grows by 10 in each batch, partition 1 by 5.
        (ToOffset("visits", 0, 0), 0),
        (ToOffset("visits", 0, 29), 2),
        (ToOffset("visits", 0, 30), 3),
        (ToOffset("visits", 1, 44), 8),
    ],
)
def test_a_time_an_event_time_or_a_record_means_a_batch(target: ToBatch | ToTime | ToEventTime | ToOffset, batch: int) -> None:
    assert batch_for(checkpoint_of(draw()), target) == batch


def test_a_batch_without_data_is_not_the_one_that_read_a_record() -> None:
    tree = draw() | {"offsets/4": offsets(3)}
    assert batch_for(checkpoint_of(tree), ToOffset("visits", 0, 39)) == 3
    assert batch_for(checkpoint_of(tree), ToOffset("visits", 0, 40)) == 5


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (ToTime(BEGIN_MS + 10 * TRIGGER_MS), "no batch was planned at .* the newest, 8"),
        (ToEventTime(BEGIN_MS + 60_000 + 9 * TRIGGER_MS, 60_000), "no batch holds events of .* the latest seen"),
        (ToEventTime(BEGIN_MS, None), "without a watermark"),
        (ToOffset("visits", 0, 90), "has not been read yet"),
        (ToOffset("visits", 7, 0), "does not read visits partition 7"),
        (ToOffset("other", 0, 0), "does not read other partition 0"),
    ],
)
def test_what_no_batch_holds_is_refused(target: ToTime | ToEventTime | ToOffset, words: str) -> None:
    with pytest.raises(Refused, match=words):
        batch_for(checkpoint_of(draw()), target)


@pytest.mark.parametrize("target", [ToTime(BEGIN_MS), ToEventTime(BEGIN_MS, 60_000), ToOffset("visits", 0, 12)])
def test_a_batch_that_may_be_gone_is_not_guessed(target: ToTime | ToEventTime | ToOffset) -> None:
    with pytest.raises(Refused, match="may be gone: the oldest batch kept is 5"):
        batch_for(checkpoint_of(draw(batches=range(5, 9))), target)


def test_an_unfinished_batch_may_hold_any_event_time() -> None:
    assert batch_for(checkpoint_of(draw(committed=range(8))), ToEventTime(BEGIN_MS + 10**9, 0)) == 8


def test_an_empty_checkpoint_has_nothing_to_rewind() -> None:
    with pytest.raises(Refused, match="no batch was ever planned"):
        batch_for(checkpoint_of({"metadata": '{"id":"1"}'}), ToBatch(0))


@pytest.mark.parametrize("text", ["", "visits", "visits:0", "visits:0:", "visits:x:1", ":0:1", "visits:0:-1", "a:b:0:1"])
def test_a_record_is_named_by_topic_partition_and_offset(text: str) -> None:
    with pytest.raises(Misused, match="names no record"):
        parse_offset_target(text)


def test_a_replay_keeps_the_plan_of_its_batch_and_a_replan_does_not() -> None:
    checkpoint = checkpoint_of(draw("hdfs", batches=range(4), partitions=1))
    replay, replan = (list(files_beyond(checkpoint, 2, mode)) for mode in ("replay", "replan"))
    assert replay == [
        "commits/3", "commits/.3.crc", "commits/2", "commits/.2.crc", "offsets/3", "offsets/.3.crc",
        "state/0/0/3.delta", "state/0/0/4.delta", "state/0/0/4.snapshot",
    ]  # fmt: skip
    assert set(replan) - set(replay) == {"offsets/2", "offsets/.2.crc"}


def test_state_goes_in_every_operator_partition_and_store_with_both_kinds_of_checksums() -> None:
    tree = draw("format-2", stores=JOIN, v2=True)
    tree |= {"state/0/_metadata/v2/6": "v2", "state/0/_metadata/v2/.6.crc": "crc"}
    file = next(path for path in tree if path.startswith("state/0/1/left-keyToNumValues/7_") and path.endswith(".changelog"))
    directory, _, name = file.rpartition("/")
    checksums = [f"{directory}/.{name}.crc", f"{file}.crc", f"{directory}/.{name}.crc.crc"]
    found = set(files_beyond(checkpoint_of(tree | dict.fromkeys(checksums, "crc")), 6, "replay"))
    assert {file, *checksums, "state/0/_metadata/v2/6", "state/0/_metadata/v2/.6.crc"} <= found
    for partition in (0, 1):
        for store in JOIN:
            assert any(path.startswith(f"state/0/{partition}/{store}/7_") for path in found)
    assert not any("/6_" in path or "/SSTs/" in path or "v2/0" in path for path in found)


def test_a_file_source_is_cut_at_the_batch_and_kafka_keeps_where_it_began() -> None:
    assert [path for path in files_beyond(checkpoint_of(draw(source="file")), 6, "replay") if path.startswith("sources")] == [
        "sources/0/8",
        "sources/0/7",
    ]
    assert "sources/0/6" in files_beyond(checkpoint_of(draw(source="file")), 6, "replan")
    for mode in ("replay", "replan"):
        assert not any(path.startswith("sources") for path in files_beyond(checkpoint_of(draw()), 0, mode))


def test_a_replan_to_0_leaves_a_new_query_without_any_state() -> None:
    found = list(files_beyond(checkpoint_of(draw(batches=range(3))), 0, "replan"))
    assert found[-1] == "state"
    assert "offsets/0" in found


def test_what_is_impossible_is_refused_with_the_nearest_that_are_possible() -> None:
    tree = without(draw(), "commits/4")
    with pytest.raises(Refused) as refused:
        check_restartable(checkpoint_of(tree), 5, "replay", None)
    assert "batch 5 cannot be rewound to by replay: commits/4 is gone" in refused.value.fact
    assert refused.value.ways_out == ("batch 4 is possible: --to-batch 4", "batch 6 is possible: --to-batch 6")
    with pytest.raises(Refused) as refused:
        check_restartable(checkpoint_of(without(draw(), "offsets/5")), 5, "replay", None)
    assert "batch 5 is possible with --replan" in refused.value.ways_out


def test_what_kafka_no_longer_holds_is_refused_with_the_earliest_batch_that_is_possible() -> None:
    held = {"visits": {0: OffsetRange(35, 200), 1: OffsetRange(0, 200)}}
    with pytest.raises(Refused) as refused:
        check_restartable(checkpoint_of(draw()), 2, "replay", held, ["the lake has them"])
    assert "visits partition 0: offsets 20 to 34 are no longer in Kafka" in refused.value.fact
    assert refused.value.ways_out == ("batch 4 is possible: --to-batch 4", "the lake has them")
    assert possible(checkpoint_of(draw()), 4, "replay", held).possible


def test_the_plan_says_what_it_means() -> None:
    lines = "\n".join(explain(plan(checkpoint_of(draw()), 3, sink=DeleteRows(ROWS))))
    assert "Rewind visits-windows to batch 3 (replay" in lines
    assert "3 to 8 of 8 taken back" in lines
    assert "2025-09-11T16:06:26.015Z -> 2025-09-11T16:04:56.015Z" in lines
    assert "visits  0: 90 -> 30  1: 45 -> 15   (90 rows are read again)" in lines
    assert "version 3 is what batch 3 begins with; set aside: 4 to 9" in lines
    assert "90 rows are taken out by their offsets, and the query's transaction is set from 8 to 2" in lines
    assert "nothing is deleted" in lines


def test_an_undo_is_the_same_files_the_other_way_round() -> None:
    checkpoint = checkpoint_of(draw())
    made = plan(checkpoint, 3, sink=DeleteRows(ROWS))
    gone = set(made.change.paths)
    after = checkpoint_of({path: text for path, text in draw().items() if path not in gone})
    assert all(holds for _, holds in verify_rewind(made, after))
    undo = plan_undo(made, after, "undo")
    assert list(undo.change.moves) == [(target, source) for source, target in reversed(list(made.change.moves))]
    assert undo.change.sink == RestoreRows(ROWS)
    assert undo.change.after == fingerprint(checkpoint.listing)
    assert "90 rows are put back, and the query's transaction is set from 2 to 8" in "\n".join(explain_undo(undo))
    # What a rewind says of a topic, that results come again, is not what its undo does there.
    told = explain_undo(plan_undo(plan(checkpoint, 3, sink=LeaveSink("emitted again")), after, "undo"))
    assert "left as it is: the rewind did nothing there" in "\n".join(told)


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ({"commits/3": "v1\n{}"}, "batch 3 ran again and would be lost"),
        ({"offsets/4": offsets(4), "commits/3": "v1\n{}", "commits/4": "v1\n{}"}, "batches 3 to 4 ran again"),
        ({"offsets/4": offsets(4)}, "batch 4 was planned again"),
        ({"state/0/0/4.changelog": "x"}, "files of the checkpoint came or went"),
    ],
)
def test_once_the_query_has_run_an_undo_is_refused_with_what_it_would_lose(extra: dict[str, str], words: str) -> None:
    made = plan(checkpoint_of(draw()), 3)
    gone = set(made.change.paths)
    tree = {path: text for path, text in draw().items() if path not in gone}
    with pytest.raises(Refused, match=words):
        plan_undo(made, checkpoint_of(tree | extra), "undo")


def test_what_does_not_hold_afterwards_is_seen() -> None:
    made = plan(checkpoint_of(draw()), 3)
    found = dict(verify_rewind(made, checkpoint_of(draw())))
    assert not found["the newest commit is 2"]
    assert not found["no state version is above 3"]


def test_the_fence_stands_before_the_first_move_and_falls_after_the_sink_changed() -> None:
    change = plan(checkpoint_of(draw()), 3, sink=DeleteRows(ROWS)).change
    assert [type(step).__name__ for step in steps(change)] == [
        "OpenJournal", "RaiseFence", "MoveFiles", "ChangeSink", "WriteManifest", "LowerFence", "CloseJournal",
    ]  # fmt: skip
    assert [type(step).__name__ for step in steps_back(change, ())] == ["ChangeSink", "MoveFiles", "LowerFence", "CloseJournal"]
    assert change.fence == "offsets/9"


def test_every_part_of_a_sink_has_words() -> None:
    assert [sink_words(part)[:10] for part in (LeaveSink("the console"), DeleteRows(ROWS), RestoreRows(ROWS))] == [
        "the consol",
        "table /lak",
        "table /lak",
    ]
