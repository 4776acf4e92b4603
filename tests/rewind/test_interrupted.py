"""Interrupted rewinds: resumed, rolled back, and what is refused until then. No Kafka, no JVM."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from anabranch.checkpoint.layout import FENCE
from anabranch.operations.change import JOURNAL
from anabranch.operations.fence import under_way
from anabranch.pipeline.builtin.catalog import BUILTIN
from anabranch.pipeline.definition import find_pipeline
from anabranch.project.project import open_project
from anabranch.rewind.apply import REWIND
from anabranch.storage.files import CheckpointLocation
from anabranch.storage.lease import alone_on
from anabranch.storage.local import LocalStorage
from tests.support.changes import application
from tests.support.crashing import Countdown, Crash, CrashingStorage, MemorySink
from tests.support.desk import FOREIGN, Desk
from tests.support.drawing import draw, write_tree


@pytest.fixture
def interrupted(desk: Desk) -> Callable[[int], str]:
    """A rewind that is killed after so many effects; its id. The plan is the command's own."""

    def interrupt(after: int) -> str:
        desk.rewind("--to-batch", "3", *FOREIGN, "--dry-run", "--json")
        plan = REWIND.from_json({**REWIND.head, **json.loads(desk.out)}, "the plan")
        change = plan.change
        open_project(desk.project).operations.record_plan(change.operation, REWIND, plan)
        storage = CrashingStorage(LocalStorage(desk.checkpoint), Countdown(after))
        with pytest.raises(Crash):
            application(change, storage, MemorySink()).apply()
        assert [outcome for _, _, outcome in desk.operations()] == ["not finished"]
        return change.operation

    return interrupt


@pytest.mark.parametrize("after", [0, 1, 2, 10, 40])
def test_an_interrupted_rewind_is_rolled_back(after: int, desk: Desk, interrupted: Callable[[int], str]) -> None:
    before = desk.tree()
    operation = interrupted(after)
    if after >= 2:
        code, said = desk("checkpoint", str(desk.checkpoint))
        assert "[fence]" in said
        assert "[journal]" in said
        code, said = desk.rewind("--to-batch", "2", *FOREIGN, "--yes")
        assert (code, f"it cannot be rewound: {operation} is not finished" in said) == (3, True)
    assert f"Not finished: anabranch resume {operation} finishes it, anabranch undo" in desk("operations", operation)[1]
    code, said = desk("undo", operation, "--yes")
    assert (code, "Rolled back" in said) == (0, True)
    assert desk.tree() == before
    assert desk.operations()[0][2] == "rolled back"
    code, said = desk("undo", operation, "--yes")
    assert (code, "[was-rolled-back]" in said) == (3, True)


@pytest.mark.parametrize("pipeline", ["visits-counter", "visits-lake"])
def test_a_checkpoint_behind_a_fence_is_neither_read_nor_recomputed(pipeline: str, desk: Desk) -> None:
    project = open_project(desk.project)
    fenced = {"offsets/9": f"{FENCE}\n", JOURNAL: json.dumps({"change": {"operation": "op"}})}
    write_tree(draw() | fenced, project.checkpoint(project.pipeline(find_pipeline(BUILTIN.pipelines, pipeline))).path)
    window = ("--from", "2025-09-11T15:00", "--to", "2025-09-11T15:10", "--dry-run")
    for command in (["reprocess", "visits-counter", *window], ["checkpoint", pipeline, "--state"]):
        code, said = desk(*command)
        assert (code, ": op is not finished" in said, "anabranch resume op" in said) == (3, True, True)
    code, said = desk("status")
    assert (code, "op is not finished" in said, "-> anabranch resume op" in said) == (4, True, True)


def test_what_was_set_aside_and_is_gone_cannot_be_undone_and_no_fence_is_raised(desk: Desk) -> None:
    assert desk.rewind("--to-batch", "3", *FOREIGN, "--yes")[0] == 0
    [(operation, _, _)] = desk.operations()
    after = desk.tree()
    (desk.checkpoint / "_rewind" / operation / "commits" / "7").unlink()
    code, said = desk("undo", operation, "--yes")
    assert (code, "[aside-gone]" in said, f"_rewind/{operation}/commits/7" in said) == (3, True, True)
    assert desk.tree() == after


def test_a_checkpoint_that_went_away_is_named_when_its_operation_is_resumed(
    desk: Desk, interrupted: Callable[[int], str]
) -> None:
    operation = interrupted(10)
    desk.checkpoint.rename(desk.checkpoint.with_name("moved"))
    for command in ("resume", "undo"):
        code, said = desk(command, operation, "--yes")
        assert (code, "[checkpoint-gone]" in said) == (1, True)


def test_two_operations_never_work_on_one_checkpoint_at_once(desk: Desk, interrupted: Callable[[int], str]) -> None:
    operation = interrupted(10)
    before = desk.tree()
    with alone_on(CheckpointLocation(desk.checkpoint)):
        for command in ("resume", "undo"):
            code, said = desk(command, operation, "--yes")
            assert (code, "[checkpoint-busy]" in said) == (3, True)
    assert desk.tree() == before
    assert desk("undo", operation, "--yes")[0] == 0


def test_a_stale_plan_is_refused_and_the_operation_is_over(desk: Desk, interrupted: Callable[[int], str]) -> None:
    operation = interrupted(0)
    (desk.checkpoint / "offsets" / "9").write_text("v1", encoding="utf-8")
    before = desk.tree()
    code, said = desk("resume", operation, "--yes")
    assert (code, "[plan-stale]" in said) == (3, True)
    assert desk.tree() == before
    assert [outcome for _, _, outcome in desk.operations()] == ["refused"]


@pytest.mark.parametrize("after", [0, 1, 2, 10, 40])
def test_a_resumed_rewind_ends_as_one_that_was_not_interrupted(
    after: int, desk: Desk, interrupted: Callable[[int], str]
) -> None:
    operation = interrupted(after)
    assert desk("resume", operation, "--dry-run")[0] == 0
    code, said = desk("resume", operation, "--yes")
    assert (code, "Verified" in said) == (0, True)
    assert under_way(LocalStorage(desk.checkpoint), "") is None
    kept = sorted(path for path in desk.tree() if path.startswith("commits/"))
    assert kept == ["commits/.0.crc", "commits/.1.crc", "commits/.2.crc", "commits/0", "commits/1", "commits/2"]


def test_a_checkpoint_without_its_commits_is_refused_before_anything_moves(desk: Desk) -> None:
    for entry in (desk.checkpoint / "commits").iterdir():
        entry.unlink()
    code, said = desk.rewind("--to-batch", "3", *FOREIGN, "--yes")
    assert (code, "[not-restartable]" in said) == (3, True)


def test_a_fence_without_a_journal_is_named_and_no_operation_is_invented(desk: Desk) -> None:
    project = open_project(desk.project)
    counter = project.pipeline(find_pipeline(BUILTIN.pipelines, "visits-counter"))
    write_tree(draw() | {"offsets/9": f"{FENCE}\n"}, project.checkpoint(counter).path)
    code, said = desk("checkpoint", "visits-counter", "--state")
    assert (code, "[fence-without-journal]" in said, "resume an operation" in said) == (3, True, False)
    code, said = desk("status")
    assert (code, "an operation without a journal" in said, "[fence-without-journal]" in said) == (4, True, True)


@pytest.mark.parametrize("after", [2, 10])
def test_undo_as_json_shows_the_operation_that_it_rolls_back(after: int, desk: Desk, interrupted: Callable[[int], str]) -> None:
    operation = interrupted(after)
    assert desk("undo", operation, "--yes", "--json")[0] == 0
    assert json.loads(desk.out)["id"] == operation
