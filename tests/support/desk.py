"""A project, and beside it the checkpoint of a query that is not ours, with the commands run in this process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from anabranch.cli.main import run_command

Capture = pytest.CaptureFixture[str]
FOREIGN = ("--stopped", "--checkpoint-only")


class Desk:
    """A project, and beside it the checkpoint of another's query."""

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
