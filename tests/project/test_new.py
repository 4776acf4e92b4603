"""anabranch init: a project that works at once, and nothing overwritten."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from shlex import split
from uuid import uuid4

import pytest

from anabranch.project.new import create_project, first_commands
from tests.support.harness import BOUND, Project, python_path

SOURCE = Path(__file__).parents[2] / "src"
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


def test_its_readme_has_ten_commands_and_ends_with_the_tests() -> None:
    commands = first_commands()
    assert len(commands) == 10
    assert commands[-1] == "python -m pytest"


@pytest.mark.kafka
def test_the_commands_of_its_readme_work(make_project: Callable[[str], Project], kafka: dict[str, str]) -> None:
    """On the broker of all tests, so under names of its own."""
    project = make_project("shop")
    create_project(project.directory)
    orders, revenue = f"orders-{uuid4().hex[:8]}", f"revenue-{uuid4().hex[:8]}"
    declared = project.directory / "pipelines.py"
    text = declared.read_text().replace('"orders",', f'"{orders}",', 1).replace('results("revenue")', f'results("{revenue}")')
    declared.write_text(text)
    project.configure(f'pipelines = ["pipelines.py"]\n[kafka]\nbootstrap_servers = "{kafka["bootstrap.servers"]}"')
    said = {}
    for line in first_commands():
        program, *command = split(line.replace("orders", orders).replace("consume revenue", f"consume {revenue}"))
        if program == "anabranch" and command[0] != "broker":
            asks = command[0] in ("rewind", "reprocess")
            said[command[0]] = project.ok(*command, *(["--yes"] if asks else []))
    assert re.search(r'"customer":"\w+","revenue":"?\d+\.\d\d', said["consume"])
    assert re.search(r"^revenue +stopped", said["status"], re.M)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q"],
        cwd=project.directory,
        env={**os.environ, "PYTHONPATH": python_path(SOURCE)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
