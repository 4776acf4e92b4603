"""Runs what the docs show: every command in a `console` block, in order, compared with what it must print."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.support.harness import PATIENCE_S, QUICK_JVM, Project

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
_CONSOLE = re.compile(r"^```console\n(.*?)^```", re.M | re.S)


def with_commands(documents: list[Path]) -> list[Path]:
    return [path for path in documents if _CONSOLE.search(path.read_text(encoding="utf-8"))]


def run_document(document: Path, project: Project) -> dict[str, str]:
    """What each command printed, on both of its outputs."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    # A free port: on the usual one there may be a broker that the developer works with.
    environment = {**os.environ, "PATH": path, "ANABRANCH_BROKER__PORT": "0", **QUICK_JVM}
    printed = {}
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
            printed[command] = done.stdout
    finally:
        project.ok("broker", "stop")
        # What a document has started and not stopped, because a command before that failed.
        for left in project.directory.rglob("*.pid"):
            os.kill(int(left.read_text(encoding="utf-8")), signal.SIGKILL)
    return printed


def _steps(document: Path) -> Iterator[tuple[str, list[str]]]:
    """Each command with the lines that it must print."""
    for block in _CONSOLE.findall(document.read_text(encoding="utf-8")):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, *lines = part.rstrip("\n").split("\n")
            yield command, [line for line in lines if line.strip()]


def _pattern(line: str) -> str:
    """Columns may be wider than in the docs, and `...` stands for anything."""
    parts = [r"\s+".join(map(re.escape, part.split())) for part in line.split("...")]
    return r".*".join(parts)
