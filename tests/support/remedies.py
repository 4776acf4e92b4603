"""Remedies that a command printed, followed as a person would: pasted into a shell."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

from tests.support.harness import Project


def remedies(said: str) -> list[str]:
    return [line.removeprefix("  -> ") for line in said.splitlines() if line.startswith("  -> ")]


def shell_command(said: str, begins: str) -> str:
    """The command in the remedy that begins so: behind its last colon and before its explanation."""
    (remedy,) = (one for one in remedies(said) if one.startswith(begins))
    return remedy.rpartition(": ")[2]


def paste(project: Project, command: str) -> subprocess.CompletedProcess[str]:
    """In a shell, in the project, where `anabranch` is ours."""
    program, *arguments = shlex.split(command.partition("   ")[0])
    if project.session is not None and program == "anabranch":
        return project(*arguments)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["sh", "-c", command.partition("   ")[0]],
        cwd=project.directory,
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": path},
        check=False,
    )
