"""anabranch init: a project that works at once, and nothing overwritten."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from anabranch.project.new import create_project, first_commands
from tests.support.harness import BOUND, Project

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
FILES = ("anabranch.toml", "pipelines.py", "tests/test_pipelines.py", ".gitignore", "README.md")


def written(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_a_new_project_lists_its_pipelines_at_once_and_generates_for_its_topics_only(project: Project) -> None:
    done = project("init", "shop/new")
    assert (done.returncode, done.stdout) == (0, "")
    assert "  cd shop/new\n  anabranch check\n  anabranch broker start\n" in done.stderr
    assert set(written(project.directory / "shop/new")) == {*FILES, ".anabranch/manifest.json"}
    listed = project.ok("-C", "shop/new", "pipelines")
    assert re.search(r"^orders-lake +orders +table:.*pipelines\.py:\d+$", listed, re.M)
    assert re.search(
        r"^revenue +orders +topic:revenue .*Revenue by 5-minute window and customer +pipelines\.py:\d+$", listed, re.M
    )

    refused = project("-C", "shop/new", "generate", "order")
    assert refused.returncode == 2
    assert "usage[unknown-topic]: 'order' is no topic" in refused.stderr
    assert "did you mean orders?" in refused.stderr
    # The only topic needs no name: it is Kafka that is missing.
    assert "error[no-kafka]" in project("-C", "shop/new", "generate").stderr


def test_a_project_whose_files_were_never_read_knows_no_topic(project: Project) -> None:
    project.configure('pipelines = ["pipelines.py"]')
    assert "usage[pipelines-not-read]" in project("generate", "orders").stderr


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_there_is_named_and_nothing_is_written(name: str, project: Project) -> None:
    path = project.directory / name
    path.parent.mkdir(exist_ok=True)
    path.symlink_to("gone")
    done = project("init", ".")
    assert done.returncode == 2
    assert f"usage[would-overwrite]: . already has {name}: nothing was written" in done.stderr
    assert written(project.directory) == {}


def test_a_path_that_is_a_file_or_cannot_be_written_to_is_refused(project: Project) -> None:
    (project.directory / "file").touch()
    done = project("init", "file")
    assert (done.returncode, "usage[not-a-directory]: file is not a directory" in done.stderr) == (2, True)
    assert project("init", "file/shop").returncode == 1
    closed = project.directory / "closed"
    closed.mkdir(mode=0o555)
    project.prefix = BOUND
    done = project("init", "closed/shop")
    assert (done.returncode, "permission" in done.stderr) == (1, True)
    assert list(closed.iterdir()) == []


def test_what_cannot_be_written_completely_is_not_left_behind(tmp_path: Path) -> None:
    # A directory in the place of one that is needed.
    (tmp_path / "tests").touch()
    with pytest.raises(FileExistsError):
        create_project(tmp_path)
    assert set(written(tmp_path)) == {"tests"}


def test_its_files_are_typed_strictly_and_clean(tmp_path: Path) -> None:
    create_project(tmp_path)
    lint = ["ruff", "check", "--isolated", "--select", "E,F,W,I,UP,B,SIM,RUF"]
    types = ["mypy", "--strict", "--follow-untyped-imports", "pipelines.py", "tests/test_pipelines.py"]
    for command in (lint, ["ruff", "format", "--isolated", "--check"], types):
        done = subprocess.run(
            [sys.executable, "-m", *command],
            cwd=tmp_path,
            env={**os.environ, "MYPYPATH": str(SOURCE)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_its_readme_has_ten_commands_which_the_docs_show_and_so_their_tests_run() -> None:
    *commands, tests = first_commands()
    assert len(commands) == 9
    assert tests == "python -m pytest"
    assert f"cd shop && {tests}" in (ROOT / "docs/guides/testing.md").read_text(encoding="utf-8")
    shown = (ROOT / "docs/your-own-pipeline.md").read_text(encoding="utf-8").splitlines()
    for command in commands:
        in_shop = command.replace("anabranch ", "$ anabranch -C shop ")
        assert {in_shop, f"{in_shop} --yes"} & {*shown}, command
