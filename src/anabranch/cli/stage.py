"""Where the demo plays: a new directory, and the real commands, each shown before it runs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from shlex import join

import typer

from anabranch.core.errors import Failed


@dataclass
class Stage:
    directory: Path
    # Every visit that visits-log has printed so far, and the ledger of all that Kafka acknowledged.
    printed: list[str] = field(default_factory=list)

    @property
    def ledger(self) -> Path:
        return self.directory / "ledger.jsonl"

    def tell(self, text: str) -> None:
        typer.echo(text)
        sys.stdout.flush()

    def anabranch(self, *command: str) -> None:
        """Shows a command, runs it, and waits for its end."""
        with self.started(*command) as process:
            pass
        if process.returncode != 0:
            raise Failed(
                f"the demo's command `anabranch {join(command)}` ended with {process.returncode}.",
                f"look into {self.directory}",
            )

    @contextmanager
    def started(self, *command: str, piped: bool = False) -> Iterator[subprocess.Popen[str]]:
        """Shows and starts a command; it has ended when the block is left. An error in the block ends it."""
        self.tell(f"\n$ anabranch {join(command)}")
        process = subprocess.Popen(
            [sys.executable, "-m", "anabranch", "-C", str(self.directory), *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if piped else None,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        try:
            yield process
        except BaseException:
            process.terminate()
            raise
        finally:
            process.wait()
