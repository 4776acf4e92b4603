"""A project that version 0.1.0 wrote: migrated once, said so, and everything in it is as it was."""

from __future__ import annotations

import json
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from anabranch.checkpoint.reader import read_logs
from anabranch.checkpoint.reconcile import reconcile
from anabranch.storage.files import CheckpointLocation
from tests.support.harness import Project

GOLDEN = Path(__file__).parents[1] / "golden"
# Plans name the directory in which they were made.
HOME = Path("/tmp/golden/project")
# From before it was made.
PERIOD = "9999d"
UNFINISHED = "20261117T085543-rewind-1109"


@pytest.fixture(scope="module")
def then() -> dict[str, Any]:
    """What 0.1.0 printed about it."""
    return dict(json.loads((GOLDEN / "project-0.1.0.json").read_text(encoding="utf-8")))


@pytest.fixture
def project() -> Iterator[Project]:
    """Where it was made: the plans of its operations name it. Held by one test at a time."""
    from filelock import FileLock

    HOME.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(HOME.parent / "lock"):
        shutil.rmtree(HOME, ignore_errors=True)
        with tarfile.open(GOLDEN / "project-0.1.0.tar.gz") as files:
            files.extractall(HOME.parent, filter="data")
        yield Project(HOME)
        shutil.rmtree(HOME, ignore_errors=True)


def said(project: Project, *command: str) -> Any:
    return json.loads(project.ok(*command, "--json"))


def status_of(project: Project, code: int = 4) -> dict[str, Any]:
    """By default that of a project with an unfinished operation."""
    done = project("status", "--all", "--json")
    assert done.returncode == code, done.stderr
    return {one["name"]: one for one in json.loads(done.stdout)["pipelines"]}


def tree(directory: Path) -> dict[str, bytes]:
    files = (path for path in directory.rglob("*") if path.is_file() and "_rewind" not in path.parts)
    return {str(path.relative_to(directory)): path.read_bytes() for path in files}


def test_it_is_migrated_by_the_first_command_and_only_once(project: Project) -> None:
    before = {path.name for path in (HOME / ".anabranch" / "operations").iterdir()}
    first, second = project("pipelines"), project("pipelines")
    assert (first.returncode, second.returncode) == (0, 0)
    assert "written by Anabranch 0.1.0" in first.stderr
    assert "0.1.0" not in second.stderr
    aside = HOME / ".anabranch" / "from-0.1.0"
    assert {path.name for path in (aside / "operations").iterdir()} == before
    assert len(list(aside.rglob("*.facts.json"))) == 2
    assert not list((HOME / ".anabranch" / "checkpoints").rglob("*.facts.json"))


def test_operations_and_totals_are_as_they_were(project: Project, then: dict[str, Any]) -> None:
    now = said(project, "operations")
    states = {
        one["id"]: (one["receipt"] or {}).get("outcome", "done" if one["receipt"] else None) for one in then["operations"]
    }
    assert {one["id"]: (one["receipt"] or {}).get("outcome") for one in now} == states
    for operation in states:
        assert operation in project.ok("operations", operation) or "Reprocess" in project.ok("operations", operation)
    status = status_of(project)
    assert sorted(status) == sorted(one["name"] for one in then["status"]["pipelines"])
    for before in then["status"]["pipelines"]:
        after = status[before["name"]]
        assert (after["records"], after["problems"]) == (before["records"], before["problems"]), before["name"]
        assert after["operation"] == before["operation"]


def test_its_history_is_continued_from_the_logs_and_what_was_not_kept_is_said_to_be_unknown(project: Project) -> None:
    status = status_of(project)["visits-lake"]
    old = said(project, "history", "visits-lake", "--last", PERIOD)["lines"]
    batches = [line for line in old if line["kind"] == "batch"]
    assert [line["batch"] for line in batches] == list(range(status["last_batch"] + 1))
    for name in ("ranges", "planned_at", "committed_at", "phases_ms", "state_rows", "code", "late", "duration_ms"):
        assert {line[name] for line in batches} == {None}, name

    # Its last two batches have left no line: a start adds them from the logs, which tell where they read.
    location = CheckpointLocation(Path(status["checkpoint"]))
    whole = location.history.read_text(encoding="utf-8").splitlines(keepends=True)
    location.history.write_text("".join(whole[:-2]), encoding="utf-8")
    assert reconcile(location, read_logs(location.storage())) == status["last_batch"]
    *before, first, second = said(project, "history", "visits-lake", "--last", PERIOD)["lines"]
    assert before == old[:-2]
    for line, was in zip((first, second), batches[-2:], strict=True):
        read = sum(end - begin for partitions in line["ranges"].values() for begin, end in partitions.values())
        assert (line["batch"], line["records"], read) == (was["batch"], was["records"], was["records"])
    assert status_of(project)["visits-lake"]["records"] == status["records"]


def test_the_unfinished_rewind_is_resumed(project: Project) -> None:
    counter = status_of(project)["visits-counter"]
    assert (counter["operation"], counter["lag"], counter["state"]) == (UNFINISHED, None, "blocked")
    assert f"anabranch resume {UNFINISHED}" in str(counter["refusals"][0]["remedies"])
    done = project("resume", UNFINISHED, "--yes")
    assert done.returncode == 0, done.stderr
    checkpoint = said(project, "checkpoint", "visits-counter")
    assert checkpoint["newest_batch"] == 5
    assert checkpoint["findings"] == []


def test_the_unfinished_rewind_is_rolled_back_to_the_byte(project: Project) -> None:
    checkpoint = next((HOME / ".anabranch" / "checkpoints" / "visits-counter").glob("topic-*/metadata")).parent
    records = {name: one["records"] for name, one in status_of(project).items()}
    project.ok("undo", UNFINISHED, "--yes")
    after = tree(checkpoint)
    assert "offsets/11" in after
    assert "offsets/12" not in after
    found = said(project, "checkpoint", "visits-counter")
    assert (found["newest_batch"], found["findings"]) == (11, [])
    assert {name: one["records"] for name, one in status_of(project, 0).items()} == records


def test_a_project_of_a_newer_version_is_refused_and_left_alone(project: Project) -> None:
    project.ok("pipelines")
    mark = HOME / ".anabranch" / "project.json"
    mark.write_text('{"format": 2, "kind": "project", "version": "9.0.0"}', encoding="utf-8")
    before = tree(HOME)
    for command in (["status"], ["operations"], ["rewind", "visits-lake", "--to-batch", "1", "--yes"]):
        done = project(*command)
        assert (done.returncode, "[format-newer]" in done.stderr) == (3, True), done.stderr
    assert tree(HOME) == before


def test_the_four_faults_of_0_1_0_are_refused(project: Project) -> None:
    """An unknown field of the baseline, an unknown kind of sink, a missing field of a plan: none is read as "nothing known"."""
    project.ok("pipelines")
    home = HOME / ".anabranch"
    plan = home / "operations" / UNFINISHED / "plan.json"
    whole = json.loads(plan.read_text(encoding="utf-8"))

    whole["change"]["sink"] = {**whole["change"]["sink"], "kind": "iceberg", "action": "take back"}
    plan.write_text(json.dumps(whole), encoding="utf-8")
    before = tree(home / "checkpoints")
    for command in ("resume", "undo"):
        done = project(command, UNFINISHED, "--yes")
        assert (done.returncode, "[format-newer]" in done.stderr) == (3, True), done.stderr
    assert tree(home / "checkpoints") == before
    assert said(project, "operations")[0]["state"] == "not finished"

    del whole["batch"]
    plan.write_text(json.dumps(whole), encoding="utf-8")
    done = project("resume", UNFINISHED, "--yes")
    assert (done.returncode, "[file-damaged]" in done.stderr) == (1, True), done.stderr
