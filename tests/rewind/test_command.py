"""anabranch rewind, undo and operations as commands, on checkpoints that are not ours. No Kafka, no JVM."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from anabranch.storage.files import CheckpointLocation
from anabranch.storage.lease import take_lease
from tests.support.desk import FOREIGN, Desk
from tests.support.drawing import draw, write_tree


def test_a_query_that_is_not_ours_must_be_said_to_be_stopped_and_its_sink_to_be_left(desk: Desk) -> None:
    before = desk.tree()
    code, said = desk.rewind("--to-batch", "3", "--yes")
    assert (code, "--stopped" in said, "[maybe-running]" in said) == (3, True, True)
    code, said = desk.rewind("--to-batch", "3", "--stopped", "--yes")
    assert code == 3
    assert "[sink-not-known]" in said
    assert "in ONE commit delete the rows of the batches taken back and set the transaction (query id, N-1)" in said
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
    assert "3 to 8 are restored" in desk("operations", back)[1]
    code, said = desk("undo", operation, "--yes")
    assert (code, "[already-undone]" in said) == (3, True)
    code, said = desk("undo", desk.operations()[0][0], "--yes")
    assert (code, "[not-a-rewind]" in said) == (3, True)
    code, said = desk("resume", operation, "--yes")
    assert (code, "[nothing-to-resume]" in said) == (3, True)


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
        ([], 2, "[no-target]"),
        (["--to-batch", "3", "--to-time", "2025-09-11"], 2, "[two-targets]"),
        (["--to-batch", "x"], 2, "Invalid value"),
        (["--to-batch", "-1"], 3, "[not-restartable]"),
        (["--to-batch", "99"], 3, "[not-restartable]"),
        (["--to-batch", "9"], 0, "There is nothing to do: batch 9 is what runs next"),
        (["--to-time", "yesterday"], 2, "[time-malformed]"),
        (["--to-time", "2030-01-01"], 3, "[no-batch-at]"),
        (["--to-event-time", "2025-09-11T16:05:00Z"], 2, "[delay-unknown]"),
        (["--to-event-time", "2025-09-11T16:05:00Z", "--delay", "20"], 2, "[duration-malformed]"),
        (["--to-event-time", "2025-09-11T16:05:00Z", "--delay", "10s"], 0, "to batch 2"),
        (["--to-offset", "visits"], 2, "[offset-malformed]"),
        (["--to-offset", "visits:0:35"], 0, "to batch 3"),
        (["--to-offset", "other:0:35"], 3, "[topic-not-read]"),
    ],
)
def test_exactly_one_target_that_exists_is_needed(options: list[str], code: int, words: str, desk: Desk) -> None:
    before = desk.tree()
    found, said = desk.rewind(*options, *FOREIGN, "--dry-run")
    assert (found, words in said) == (code, True), said
    assert desk.tree() == before


@pytest.mark.parametrize(
    ("options", "words"),
    [([], "[cannot-prompt]"), (["--yes", "--dry-run"], "[contradiction]")],
)
def test_without_a_terminal_one_must_say_yes_or_only_look(options: list[str], words: str, desk: Desk) -> None:
    code, said = desk.rewind("--to-batch", "3", *FOREIGN, *options)
    assert (code, words in said) == (2, True)


def test_an_impossible_batch_is_refused_with_the_nearest_ones(desk: Desk) -> None:
    (desk.checkpoint / "commits" / "4").unlink()
    code, said = desk.rewind("--to-batch", "5", *FOREIGN, "--yes")
    assert code == 3
    assert "[not-restartable]" in said
    assert "batch 4 is possible" in said
    assert "batch 6 is possible" in said


def test_what_is_no_checkpoint_or_no_pipeline_is_said_to_be_none(desk: Desk) -> None:
    assert desk("rewind", str(desk.project), "--to-batch", "1", "--stopped", "--yes")[0] == 2
    assert desk("rewind", "visits-lakes", "--to-batch", "1", "--yes")[0] == 2
    code, said = desk("rewind", "visits-lake", "--to-batch", "1", "--yes")
    assert (code, "[no-checkpoint]" in said) == (2, True)
    assert desk("undo", "nothing", "--yes")[0] == 2


def test_a_pipelines_checkpoint_is_not_rewound_by_its_path(desk: Desk) -> None:
    (desk.checkpoint.parent / "theirs.baseline.json").write_text("{}", encoding="utf-8")
    code, said = desk.rewind("--to-batch", "3", *FOREIGN, "--yes")
    assert (code, "[ours-by-path]" in said) == (2, True)


def test_a_pipeline_that_runs_is_not_rewound(desk: Desk) -> None:
    checkpoint = desk.project / ".anabranch" / "checkpoints" / "visits-windows" / "console"
    write_tree(draw(), checkpoint)
    lease = take_lease(CheckpointLocation(checkpoint), "visits-windows", "run")
    try:
        code, said = desk("rewind", "visits-windows", "--to-batch", "3", "--yes")
    finally:
        lease.release()
    assert (code, "anabranch stop visits-windows" in said) == (3, True)


def test_a_checkpoint_whose_name_is_not_utf_8_is_refused_and_a_link_to_it_is_rewound(desk: Desk) -> None:
    odd = Path(os.fsdecode(os.fsencode(desk.checkpoint) + b"\xff"))
    desk.checkpoint.rename(odd)
    code, said = desk("rewind", str(odd), "--to-batch", "3", *FOREIGN, "--yes")
    assert (code, "[name-not-utf8]" in said) == (3, True), said
    desk.checkpoint.symlink_to(odd)
    assert desk.rewind("--to-batch", "3", *FOREIGN, "--yes")[0] == 0
    assert desk.operations()[0][2] == "done"
