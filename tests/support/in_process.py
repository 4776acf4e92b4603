"""A command in the test's own process, with the Spark that is there: no JVM of its own.

For tests of what commands do to topics, tables and checkpoints. What is about processes (signals, kills, the start of Spark)
needs real ones.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import pytest

from anabranch.cli.main import run_command
from anabranch.spark.beside import session_beside
from anabranch.spark.session import END_TIMEOUT_S, Session

# Commands that would start a JVM.
COMMANDS = ("run", "reprocess", "audit", "explain", "repair", "problems")
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class SessionBeside(Session):
    """Ends without the Spark application, which is of all tests."""

    def end(self, timeout_s: float = END_TIMEOUT_S) -> None:  # noqa: ARG002
        assert self.spark.streams.active == []


def call(
    session: Session, directory: Path, command: Sequence[str], environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    def start(changes: Mapping[str, str], *, zone: str, **_: object) -> Session:
        return SessionBeside(session_beside(session.spark, changes, zone), session.jvm)

    with _stream() as stdin, _stream() as stdout, _stream() as stderr:
        with pytest.MonkeyPatch.context() as patch, chdir(directory), _signals_kept():
            patch.setattr("anabranch.project.session.start_session", start)
            for name, stream in (("stdin", stdin), ("stdout", stdout), ("stderr", stderr)):
                patch.setattr(sys, name, stream)
            for variable, value in environment.items():
                patch.setenv(variable, value)
            code = run_command(list(command))
        return subprocess.CompletedProcess(command, code, _text(stdout), _text(stderr))


def _stream() -> IO[str]:
    """A real file: commands ask for its descriptor."""
    return TemporaryFile("w+", encoding="utf-8", newline="")


def _text(stream: IO[str]) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()


@contextmanager
def _signals_kept() -> Iterator[None]:
    kept = {number: signal.getsignal(number) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
