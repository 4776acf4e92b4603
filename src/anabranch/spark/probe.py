"""What an executor sees of the driver's directories. Runs on executors: it imports the standard library alone."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Mark:
    """A file that the driver has written, where executors have to read, or to write too."""

    path: str
    content: str
    is_written: bool


@dataclass(frozen=True)
class Answer:
    host: str
    # Of the process that starts the executor's Python workers: each executor has one of its own.
    daemon_pid: int
    # The marks that are not there, or are other files; and those beside which nothing can be written.
    unseen: tuple[str, ...]
    unwritable: tuple[str, ...]


def look(marks: Sequence[Mark], _task: Iterable[int]) -> Iterator[Answer]:
    unseen = [mark.path for mark in marks if _read(mark.path) != mark.content]
    unwritable = [mark.path for mark in marks if mark.is_written and mark.path not in unseen and not _write(mark.path)]
    yield Answer(socket.gethostname(), os.getppid(), tuple(unseen), tuple(unwritable))


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 (no pathlib: a worker starts sooner)
            return file.read()
    except OSError:
        return None


def _write(path: str) -> bool:
    """Beside the mark, under its name: the driver removes it."""
    try:
        with open(f"{path}.{socket.gethostname()}.{os.getpid()}", "w", encoding="utf-8"):  # noqa: PTH123
            return True
    except OSError:
        return False
