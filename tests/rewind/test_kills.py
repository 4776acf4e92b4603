"""Rewinds, undos and resumes in real processes, several at once, killed at any moment: nothing is lost, and nobody is stuck."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from tests.support.drawing import draw, write_tree
from tests.support.harness import Project

pytestmark = pytest.mark.crash

ROUNDS = 5
# So many that their moves take as long as the rest of a command.
BATCHES = 800
DONE, REFUSED, KILLED = 0, 3, -9


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """The checkpoint of a query that is not ours: no lease says who works on it."""
    write_tree(draw(batches=range(BATCHES)), tmp_path / "theirs")
    return tmp_path / "theirs"


def tree(checkpoint: Path) -> dict[str, bytes]:
    files = (path for path in checkpoint.rglob("*") if path.is_file() and "_rewind" not in path.parts)
    return {str(path.relative_to(checkpoint)): path.read_bytes() for path in files}


def newest(checkpoint: Path) -> int:
    return max(int(path.name) for path in (checkpoint / "offsets").iterdir() if path.name.isdecimal())


def operations(project: Project, state: str | None = None) -> list[str]:
    """The ids of all, or of those in this state, the newest first."""
    listed: list[dict[str, Any]] = json.loads(project.ok("operations", "--json"))
    found = ((one["id"], (one["receipt"] or {"outcome": "not finished"})["outcome"]) for one in listed)
    return [name for name, outcome in found if state in (None, outcome)]


def test_commands_that_meet_and_are_killed_leave_a_way_back_to_the_byte(project: Project, theirs: Path) -> None:
    before, chance = tree(theirs), random.Random(20250904)
    begun_s = monotonic()
    project.ok("rewind", str(theirs), "--to-batch", "600", "--stopped", "--checkpoint-only", "--yes")
    longest_s = monotonic() - begun_s
    codes: set[int] = set()
    for _ in range(ROUNDS):
        known = operations(project)[:3]
        batches = [chance.randrange(newest(theirs) // 2, newest(theirs)) for _ in range(2)]
        commands = [["rewind", str(theirs), "--to-batch", str(batch), "--stopped", "--checkpoint-only"] for batch in batches]
        commands += [[chance.choice(("undo", "resume")), name] for name in chance.sample(known, min(len(known), 2))]
        met = [project.start(*command, "--yes") for command in commands]
        victim = chance.choice(met)
        try:
            victim.process.wait(chance.uniform(0, longest_s))
        except subprocess.TimeoutExpired:
            victim.process.kill()
        codes |= {one.await_end() for one in met}
    assert {DONE, REFUSED} <= codes <= {DONE, REFUSED, KILLED}

    # Only the last one on a checkpoint can be taken back, so that another's turn may come first. One that was killed when all
    # but its receipt was there is over: it is resumed, which writes that.
    while (unfinished := operations(project, "not finished")) or tree(theirs) != before:
        rewinds = [name for name in operations(project, "done") if "-rewind-" in name]
        ways = [(way, name) for name in unfinished for way in ("undo", "resume")] + [("undo", name) for name in rewinds]
        assert any(project(*way, "--yes").returncode == DONE for way in ways)
    shown = json.loads(project("checkpoint", str(theirs), "--json").stdout)
    assert {"fence", "journal"}.isdisjoint(finding["code"] for finding in shown["findings"])
