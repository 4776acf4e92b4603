"""The docs are true: every command that they show is run, and what it prints is compared. test_picture.py has the README."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from anabranch.cli.main import run_command
from tests.support.documents import README, ROOT, run_document, with_commands
from tests.support.harness import Project

DOCUMENTS = with_commands(sorted((ROOT / "docs").rglob("*.md")))


@pytest.mark.kafka
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_command_in_the_docs_works_and_prints_what_they_say(
    document: Path, make_project: Callable[[str], Project]
) -> None:
    assert run_document(document, make_project("docs"))


def test_the_readme_has_the_two_commands_and_make_knows_them() -> None:
    known = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for target in ("demo", "test", "install"):
        assert f"make {target}" in known
        assert f"make {target}" in README.read_text(encoding="utf-8")


def test_every_command_has_an_example_in_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    def helped(*command: str) -> str:
        assert run_command([*command, "--help"]) == 0
        return capsys.readouterr().out

    def below(*command: str) -> list[str]:
        return re.findall(r"^  ([a-z]+) ", helped(*command).partition("Commands:")[2], re.M)

    commands = below()
    assert {"run", "broker", "topics", "demo"} <= set(commands)
    for command in commands:
        for words in [[command, name] for name in below(command)] or [[command]]:
            assert "Example:" in helped(*words), words
