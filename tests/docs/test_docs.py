"""The docs are true: every command in a `console` block is run, in order, and what it prints is compared."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from anabranch.cli.main import run_command
from tests.support.harness import PATIENCE_S, QUICK_JVM, Project

ROOT = Path(__file__).parents[2]
_CONSOLE = re.compile(r"^```console\n(.*?)^```", re.M | re.S)


def _text(document: Path) -> str:
    return document.read_text(encoding="utf-8")


DOCUMENTS = [path for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))) if _CONSOLE.search(_text(path))]


def _steps(document: Path) -> Iterator[tuple[str, list[str]]]:
    """Each command with the lines that it must print."""
    for block in _CONSOLE.findall(_text(document)):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, *lines = part.rstrip("\n").split("\n")
            yield command, [line for line in lines if line.strip()]


def _pattern(line: str) -> str:
    """Columns may be wider than in the docs, and `...` stands for anything."""
    parts = [r"\s+".join(map(re.escape, part.split())) for part in line.split("...")]
    return r".*".join(parts)


@pytest.mark.kafka
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_command_in_the_docs_works_and_prints_what_they_say(
    document: Path, make_project: Callable[[str], Project]
) -> None:
    project = make_project("docs")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    # A free port: on the usual one there may be a broker that the developer works with.
    environment = {**os.environ, "PATH": path, "ANABRANCH_BROKER__PORT": "0", **QUICK_JVM}
    try:
        for command, expected in _steps(document):
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=project.directory,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                env=environment,
                timeout=PATIENCE_S,
                check=False,
            )
            assert done.returncode == 0, f"$ {command}\n{done.stdout}"
            assert re.search(r"[^\n]*\n(?:.*\n)*?[ \t]*".join(map(_pattern, expected)), done.stdout), (
                f"$ {command}\nprinted\n{done.stdout}\nand not\n" + "\n".join(expected)
            )
    finally:
        project.ok("broker", "stop")


def test_the_readme_has_the_two_commands_and_make_knows_them() -> None:
    known = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for target in ("demo", "test", "install"):
        assert f"make {target}" in known
        assert f"make {target}" in _text(ROOT / "README.md")


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
