"""What a rewind would do, decided on drawn checkpoints: the batch, the files that are moved, the refusals, the plan's text."""

from __future__ import annotations

import pytest

from anabranch.checkpoint.checkpoint import Checkpoint
from anabranch.checkpoint.layout import OffsetRange
from anabranch.errors import Misused, Refused
from anabranch.operations.change import SinkChange, fingerprint
from anabranch.rewind.explain import explain, explain_undo
from anabranch.rewind.messages import NO_LAKE_HAS_THEM
from anabranch.rewind.plan import Mode, RewindPlan, check_restartable, files_beyond, judge, plan_rewind, verify_rewind
from anabranch.rewind.target import TargetOptions, ToBatch, ToEventTime, ToOffset, ToTime, batch_for, parse_target
from anabranch.rewind.undo import plan_undo
from tests.support.changes import DELETED, LEFT
from tests.support.drawing import BEGIN_MS, JOIN, TRIGGER_MS, checkpoint_of, draw, offsets, without
from tests.support.reasons import codes_in


def plan(checkpoint: Checkpoint, batch: int, mode: Mode = "replay", sink: SinkChange = LEFT) -> RewindPlan:
    return plan_rewind(checkpoint, batch, mode, operation="op", sink=sink, pipeline="visits-windows")


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
    ("target", "code"),
    [
        (ToTime(BEGIN_MS + 10 * TRIGGER_MS), "no-batch-at"),
        (ToEventTime(BEGIN_MS + 60_000 + 9 * TRIGGER_MS, 60_000), "no-batch-with"),
        (ToEventTime(BEGIN_MS, None), "no-watermark"),
        (ToOffset("visits", 0, 90), "offset-not-read"),
        (ToOffset("visits", 7, 0), "topic-not-read"),
        (ToOffset("other", 0, 0), "topic-not-read"),
    ],
)
def test_what_no_batch_holds_is_refused(target: ToTime | ToEventTime | ToOffset, code: str) -> None:
    with pytest.raises(Refused) as refused:
        batch_for(checkpoint_of(draw()), target)
    assert refused.value.code == code


@pytest.mark.parametrize("target", [ToTime(BEGIN_MS), ToEventTime(BEGIN_MS, 60_000), ToOffset("visits", 0, 12)])
def test_a_batch_that_may_be_gone_is_not_guessed(target: ToTime | ToEventTime | ToOffset) -> None:
    with pytest.raises(Refused) as refused:
        batch_for(checkpoint_of(draw(batches=range(5, 9))), target)
    assert (refused.value.code, refused.value.reason.params["oldest"]) == ("target-purged", 5)


def test_an_unfinished_batch_may_hold_any_event_time() -> None:
    assert batch_for(checkpoint_of(draw(committed=range(8))), ToEventTime(BEGIN_MS + 10**9, 0)) == 8


def test_an_empty_checkpoint_has_nothing_to_rewind() -> None:
    with pytest.raises(Refused) as refused:
        batch_for(checkpoint_of({"metadata": '{"id":"1"}'}), ToBatch(0))
    assert refused.value.code == "nothing-planned"


@pytest.mark.parametrize("text", ["", "visits", "visits:0", "visits:0:", "visits:x:1", ":0:1", "visits:0:-1", "a:b:0:1"])
def test_a_record_is_named_by_topic_partition_and_offset(text: str) -> None:
    with pytest.raises(Misused) as misused:
        parse_target(TargetOptions(None, None, None, text, None), "UTC", None)
    assert misused.value.code == "offset-malformed"


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
    assert refused.value.code == "not-restartable"
    assert codes_in(*refused.value.reason.params["why"])[:2] == ["entry-missing", "runs-again"]
    assert refused.value.remedies == ("batch 4 is possible: --to-batch 4", "batch 6 is possible: --to-batch 6")
    with pytest.raises(Refused) as refused:
        check_restartable(checkpoint_of(without(draw(), "offsets/5")), 5, "replay", None)
    assert "with-replan" in codes_in(*refused.value.reason.params["ways"])


def test_what_kafka_no_longer_holds_is_refused_with_the_earliest_batch_that_is_possible() -> None:
    held = {"visits": {0: OffsetRange(35, 200), 1: OffsetRange(0, 200)}}
    with pytest.raises(Refused) as refused:
        check_restartable(checkpoint_of(draw()), 2, "replay", held, [NO_LAKE_HAS_THEM()])
    (why,) = refused.value.reason.params["why"]
    assert (why.code, why.params["first"], why.params["last"]) == ("offsets-expired", 20, 34)
    assert codes_in(*refused.value.reason.params["ways"]) == ["nearest", "no-lake-has-them"]
    assert judge(checkpoint_of(draw()), 4, "replay", held).possible


def test_the_plan_says_what_it_means() -> None:
    lines = "\n".join(explain(plan(checkpoint_of(draw()), 3, sink=DELETED)))
    assert "Rewind visits-windows to batch 3 (replay" in lines
    assert "3 to 8 of 8 taken back" in lines
    assert "2025-09-11T16:06:26.015Z -> 2025-09-11T16:04:56.015Z" in lines
    assert "visits  0: 90 -> 30  1: 45 -> 15   (90 rows are read again)" in lines
    assert "batch 3 starts from version 3; versions set aside: 4 to 9" in lines
    assert DELETED.effect.text in lines
    assert "nothing is deleted" in lines


def test_an_undo_is_the_same_files_the_other_way_round() -> None:
    checkpoint = checkpoint_of(draw())
    made = plan(checkpoint, 3, sink=DELETED)
    gone = set(made.change.paths)
    after = checkpoint_of({path: text for path, text in draw().items() if path not in gone})
    assert all(check.holds for check in verify_rewind(made, after))
    undo = plan_undo(made, after, "undo")
    assert list(undo.change.moves) == [(target, source) for source, target in reversed(list(made.change.moves))]
    assert undo.change.sink == DELETED.opposite
    assert undo.change.sink.action == "put back"
    assert undo.change.after == fingerprint(checkpoint.listing)
    assert DELETED.undo_effect.text in "\n".join(explain_undo(undo))
    # What a rewind says of a topic, that results come again, is not what its undo does there.
    left = plan_undo(plan(checkpoint, 3), after, "undo").change.sink
    assert (left.action, left.effect.code) == ("leave", "sink-was-left")


@pytest.mark.parametrize(
    ("extra", "why"),
    [
        ({"commits/3": "v1\n{}"}, "would-be-lost"),
        ({"offsets/4": offsets(4), "commits/3": "v1\n{}", "commits/4": "v1\n{}"}, "would-be-lost"),
        ({"offsets/4": offsets(4)}, "planned-again"),
        ({"state/0/0/4.changelog": "x"}, "files-changed"),
    ],
)
def test_once_the_query_has_run_an_undo_is_refused_with_what_it_would_lose(extra: dict[str, str], why: str) -> None:
    made = plan(checkpoint_of(draw()), 3)
    gone = set(made.change.paths)
    tree = {path: text for path, text in draw().items() if path not in gone}
    with pytest.raises(Refused) as refused:
        plan_undo(made, checkpoint_of(tree | extra), "undo")
    assert (refused.value.code, codes_in(*refused.value.reason.params["why"])) == ("ran-again", [why])


def test_what_does_not_hold_afterwards_is_seen() -> None:
    made = plan(checkpoint_of(draw()), 3)
    found = {check.what.code: check.holds for check in verify_rewind(made, checkpoint_of(draw()))}
    assert not found["newest-commit-is"]
    assert not found["no-state-above"]
    assert found["no-fence-left"]
