"""anabranch rewind, undo, resume and operations through their own door, on checkpoints that are not ours. No Kafka, no JVM."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from anabranch.rewind.change import Shifting

from anabranch.checkpoint.lease import alone_on, take_lease
from anabranch.checkpoint.logs import FENCE
from anabranch.cli.main import run_command
from anabranch.operations.change import JOURNAL, NoTables
from anabranch.operations.fence import under_way
from anabranch.operations.log import record_plan
from anabranch.pipeline.catalog import find_pipeline
from anabranch.project.project import open_project
from anabranch.rewind.plan import plan_from_json
from anabranch.storage.local import LocalStorage
from tests.support.crashing import Countdown, Crash, CrashingStorage
from tests.support.drawing import draw, write_tree

Capture = pytest.CaptureFixture[str]
FOREIGN = ("--stopped", "--checkpoint-only")


class Desk:
    """A project, and beside it the checkpoint of somebody else's query."""

    def __init__(self, directory: Path, capsys: Capture) -> None:
        self.project, self.checkpoint, self._capsys = directory / "project", directory / "theirs", capsys
        self.project.mkdir()

    def __call__(self, *command: str) -> tuple[int, str]:
        code = run_command(["-C", str(self.project), *command])
        self.out, err = self._capsys.readouterr()
        return code, self.out + err

    def rewind(self, *options: str) -> tuple[int, str]:
        return self("rewind", str(self.checkpoint), *options)

    def tree(self) -> dict[str, bytes]:
        files = (path for path in self.checkpoint.rglob("*") if path.is_file())
        return {str(path.relative_to(self.checkpoint)): path.read_bytes() for path in files if "_rewind" not in path.parts}

    def operations(self) -> list[tuple[str, str, str]]:
        self("operations", "--json")
        listed = json.loads(self.out)
        return [(one["id"], one["kind"], (one["receipt"] or {}).get("outcome", "not finished")) for one in listed]


@pytest.fixture
def desk(tmp_path: Path, capsys: Capture) -> Desk:
    desk = Desk(tmp_path, capsys)
    write_tree(draw(), desk.checkpoint)
    return desk


def test_a_query_that_is_not_ours_must_be_said_to_be_stopped_and_its_sink_to_be_left(desk: Desk) -> None:
    before = desk.tree()
    code, said = desk.rewind("--to-batch", "3", "--yes")
    assert (code, "--stopped" in said, "an idle one by neither" in said) == (3, True, True)
    code, said = desk.rewind("--to-batch", "3", "--stopped", "--yes")
    assert code == 3
    assert "a checkpoint does not say where its sink is" in said
    assert "in ONE commit delete the rows of the batches taken back and set the transaction (query id, N-1)" in said
    assert "a file sink keeps its own log of batches" in said
    assert desk.tree() == before
    assert desk.operations() == []
    assert "There are none yet" in desk("operations")[1]


def test_a_rewind_is_shown_carried_out_verified_and_undone_byte_for_byte(desk: Desk) -> None:
    before = desk.tree()
    code, said = desk.rewind("--to-batch", "3", *FOREIGN, "--dry-run")
    assert code == 0
    assert "3 to 8 of 8 taken back" in said
    assert desk.tree() == before
    code, said = desk.rewind("--to-batch", "3", *FOREIGN, "--yes")
    assert code == 0
    assert "the newest commit is 2" in said
    assert "A file sink skips them too" in said
    assert "offsets/3" in desk.tree()
    assert "offsets/4" not in desk.tree()
    [(operation, kind, outcome)] = desk.operations()
    assert (kind, outcome) == ("rewind", "done")
    assert f"anabranch undo {operation}" in said
    _, said = desk("operations", operation)
    assert "3 to 8 of 8 taken back" in said
    assert "\nDone, 20" in said
    assert "  verified: the newest commit is 2\n" in said
    assert desk("undo", operation, "--dry-run")[0] == 0
    code, said = desk("undo", operation, "--yes")
    assert code == 0
    assert desk.tree() == before
    assert [outcome for _, _, outcome in desk.operations()] == ["done", "undone"]
    back = desk.operations()[0][0]
    assert f"\nUndone by {back}, 20" in desk("operations", operation)[1]
    assert "3 to 8 are put back" in desk("operations", back)[1]
    code, said = desk("undo", operation, "--yes")
    assert (code, "is undone already" in said) == (3, True)
    code, said = desk("undo", desk.operations()[0][0], "--yes")
    assert (code, "is no rewind" in said) == (3, True)
    code, said = desk("resume", operation, "--yes")
    assert (code, "has finished" in said) == (3, True)


def test_the_plan_as_json_has_all_of_it(desk: Desk) -> None:
    code, _ = desk.rewind("--to-batch", "3", "--replan", *FOREIGN, "--dry-run", "--json")
    plan = json.loads(desk.out)
    assert code == 0
    assert (plan["batch"], plan["newest"], plan["mode"], plan["rows"]) == (3, 8, "replan", 90)
    assert plan["offsets"] == {"visits": {"0": [90, 30], "1": [45, 15]}}
    assert "offsets/3" in plan["change"]["paths"]
    assert len(plan["change"]["before"]) == 64


def test_rewinds_are_undone_in_the_reverse_order(desk: Desk) -> None:
    before = desk.tree()
    desk.rewind("--to-batch", "6", *FOREIGN, "--yes")
    desk.rewind("--to-batch", "3", *FOREIGN, "--replan", "--yes")
    [deeper] = [one for one, _, _ in desk.operations() if (desk.checkpoint / "_rewind" / one / "offsets" / "3").exists()]
    [first] = [one for one, _, _ in desk.operations() if one != deeper]
    code, said = desk("undo", first, "--yes")
    assert (code, f"anabranch undo {deeper}   first" in said) == (3, True)
    assert desk("undo", deeper, "--yes")[0] == 0
    assert desk("undo", first, "--yes")[0] == 0
    assert desk.tree() == before


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ([], 2, "where to is not said"),
        (["--to-batch", "3", "--to-time", "2025-09-11"], 2, "where to is said more than once"),
        (["--to-batch", "x"], 2, "Invalid value"),
        (["--to-batch", "-1"], 3, "there is no batch -1"),
        (["--to-batch", "99"], 3, "batch 99 is not planned yet: the newest is 8"),
        (["--to-batch", "9"], 0, "There is nothing to do: batch 9 is what runs next"),
        (["--to-time", "yesterday"], 2, "is not a time"),
        (["--to-time", "2030-01-01"], 3, "no batch was planned at"),
        (["--to-event-time", "2025-09-11T16:05:00Z"], 2, "--delay 10m"),
        (["--to-event-time", "2025-09-11T16:05:00Z", "--delay", "20"], 2, "is not a duration"),
        (["--to-event-time", "2025-09-11T16:05:00Z", "--delay", "10s"], 0, "to batch 2"),
        (["--to-offset", "visits"], 2, "names no record"),
        (["--to-offset", "visits:0:35"], 0, "to batch 3"),
        (["--to-offset", "other:0:35"], 3, "does not read other"),
    ],
)
def test_where_to_is_said_once_and_makes_sense(options: list[str], code: int, words: str, desk: Desk) -> None:
    before = desk.tree()
    found, said = desk.rewind(*options, *FOREIGN, "--dry-run")
    assert (found, words in said) == (code, True), said
    assert desk.tree() == before


@pytest.mark.parametrize(
    ("options", "words"),
    [([], "nobody can be asked"), (["--yes", "--dry-run"], "contradict each other")],
)
def test_without_a_terminal_one_must_say_yes_or_only_look(options: list[str], words: str, desk: Desk) -> None:
    code, said = desk.rewind("--to-batch", "3", *FOREIGN, *options)
    assert (code, words in said) == (2, True)


def test_an_impossible_batch_is_refused_with_the_nearest_ones(desk: Desk) -> None:
    (desk.checkpoint / "commits" / "4").unlink()
    code, said = desk.rewind("--to-batch", "5", *FOREIGN, "--yes")
    assert code == 3
    assert "commits/4 is gone" in said
    assert "batch 4 is possible" in said
    assert "batch 6 is possible" in said


def test_what_is_no_checkpoint_or_no_pipeline_is_said_to_be_none(desk: Desk) -> None:
    assert desk("rewind", str(desk.project), "--to-batch", "1", "--stopped", "--yes")[0] == 2
    assert desk("rewind", "visits-lakes", "--to-batch", "1", "--yes")[0] == 2
    code, said = desk("rewind", "visits-lake", "--to-batch", "1", "--yes")
    assert (code, "there is no checkpoint" in said) == (2, True)
    assert desk("undo", "nothing", "--yes")[0] == 2


def test_a_pipelines_checkpoint_is_not_rewound_by_its_path(desk: Desk) -> None:
    (desk.checkpoint.parent / "theirs.facts.json").write_text("{}", encoding="utf-8")
    code, said = desk.rewind("--to-batch", "3", *FOREIGN, "--yes")
    assert (code, "named by its path its sink would stay behind" in said) == (2, True)


def test_a_pipeline_that_runs_is_not_rewound(desk: Desk) -> None:
    checkpoint = desk.project / ".anabranch" / "checkpoints" / "visits-windows" / "console"
    write_tree(draw(), checkpoint)
    lease = take_lease(checkpoint, "visits-windows", "run")
    try:
        code, said = desk("rewind", "visits-windows", "--to-batch", "3", "--yes")
    finally:
        lease.release()
    assert (code, "anabranch stop visits-windows" in said) == (3, True)


@pytest.fixture
def interrupted(desk: Desk) -> Callable[[int], str]:
    """A rewind that is killed after so many effects; its id. The plan is the command's own."""

    def interrupt(after: int) -> str:
        desk.rewind("--to-batch", "3", *FOREIGN, "--dry-run", "--json")
        record = json.loads(desk.out)
        change = plan_from_json(record).change
        record_plan(open_project(desk.project), change.operation, "rewind", record)
        storage = CrashingStorage(LocalStorage(desk.checkpoint), Countdown(after))
        with pytest.raises(Crash):
            Shifting(change, desk.out, storage, NoTables(), lambda _done, _total: None).apply()
        assert [outcome for _, _, outcome in desk.operations()] == ["not finished"]
        return change.operation

    return interrupt


@pytest.mark.parametrize("after", [0, 1, 2, 10, 40])
def test_an_interrupted_rewind_is_resumed_or_taken_back(after: int, desk: Desk, interrupted: Callable[[int], str]) -> None:
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
    assert (code, "Taken back" in said) == (0, True)
    assert desk.tree() == before
    assert desk.operations()[0][2] == "taken back"
    code, said = desk("undo", operation, "--yes")
    assert (code, "was taken back before it finished" in said) == (3, True)


@pytest.mark.parametrize("pipeline", ["visits-counter", "visits-lake"])
def test_what_lies_behind_a_fence_is_neither_read_nor_recomputed(pipeline: str, desk: Desk) -> None:
    project = open_project(desk.project)
    fenced = {"offsets/9": f"{FENCE}\n", JOURNAL: json.dumps({"change": {"operation": "op"}})}
    write_tree(draw() | fenced, project.checkpoint(project.pipeline(find_pipeline(pipeline))))
    window = ("--from", "2025-09-11T15:00", "--to", "2025-09-11T15:10", "--dry-run")
    for command in (["reprocess", "visits-counter", *window], ["checkpoint", pipeline, "--state"]):
        code, said = desk(*command)
        assert (code, ": op is not finished" in said, "anabranch resume op" in said) == (3, True, True)
    assert "stopped, op not finished" in desk("status")[1]


def test_what_was_set_aside_and_is_gone_cannot_be_undone_and_no_fence_is_raised(desk: Desk) -> None:
    assert desk.rewind("--to-batch", "3", *FOREIGN, "--yes")[0] == 0
    [(operation, _, _)] = desk.operations()
    after = desk.tree()
    (desk.checkpoint / "_rewind" / operation / "commits" / "7").unlink()
    code, said = desk("undo", operation, "--yes")
    assert (code, f"it set aside 1 are gone, _rewind/{operation}/commits/7 for one" in said) == (3, True)
    assert desk.tree() == after


def test_a_checkpoint_that_went_away_is_named_when_its_operation_is_resumed(
    desk: Desk, interrupted: Callable[[int], str]
) -> None:
    operation = interrupted(10)
    desk.checkpoint.rename(desk.checkpoint.with_name("moved"))
    for command in ("resume", "undo"):
        code, said = desk(command, operation, "--yes")
        assert (code, f"there is no checkpoint at {desk.checkpoint} any more" in said) == (1, True)


def test_two_operations_never_work_on_one_checkpoint_at_once(desk: Desk, interrupted: Callable[[int], str]) -> None:
    operation = interrupted(10)
    before = desk.tree()
    with alone_on(desk.checkpoint):
        for command in ("resume", "undo"):
            code, said = desk(command, operation, "--yes")
            assert (code, "another operation works on" in said) == (3, True)
    assert desk.tree() == before
    assert desk("undo", operation, "--yes")[0] == 0


def test_ground_that_moved_is_refused_and_the_operation_is_over(desk: Desk, interrupted: Callable[[int], str]) -> None:
    operation = interrupted(0)
    (desk.checkpoint / "offsets" / "9").write_text("v1", encoding="utf-8")
    before = desk.tree()
    code, said = desk("resume", operation, "--yes")
    assert (code, "files came or went since" in said) == (3, True)
    assert desk.tree() == before
    assert [outcome for _, _, outcome in desk.operations()] == ["refused"]


@pytest.mark.parametrize("after", [0, 1, 2, 10, 40])
def test_resumed_it_ends_as_if_nothing_had_been(after: int, desk: Desk, interrupted: Callable[[int], str]) -> None:
    operation = interrupted(after)
    assert desk("resume", operation, "--dry-run")[0] == 0
    code, said = desk("resume", operation, "--yes")
    assert (code, "Verified" in said) == (0, True)
    assert under_way(LocalStorage(desk.checkpoint)) is None
    kept = sorted(path for path in desk.tree() if path.startswith("commits/"))
    assert kept == ["commits/.0.crc", "commits/.1.crc", "commits/.2.crc", "commits/0", "commits/1", "commits/2"]


def test_a_checkpoint_without_its_commits_is_refused_before_anything_moves(desk: Desk) -> None:
    for entry in (desk.checkpoint / "commits").iterdir():
        entry.unlink()
    code, said = desk.rewind("--to-batch", "3", *FOREIGN, "--yes")
    assert (code, "would run again into the sink" in said) == (3, True)
