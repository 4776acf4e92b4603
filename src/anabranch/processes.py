"""A process that can be told apart from a later one with the same id: by its id and the time it was created."""

from __future__ import annotations

import os
from dataclasses import dataclass

import psutil

# What the kernel says of a start time can differ in its last digits between two looks.
_SAME_START_S = 1.0


@dataclass(frozen=True)
class ProcessMark:
    pid: int
    created_s: float

    def is_alive(self) -> bool:
        return self.process() is not None

    def process(self) -> psutil.Process | None:
        """The process, unless it is gone (or a zombie) or another one has its id now."""
        try:
            process = psutil.Process(self.pid)
            same = abs(process.create_time() - self.created_s) < _SAME_START_S
            return process if same and process.status() != psutil.STATUS_ZOMBIE else None
        except psutil.NoSuchProcess:
            return None

    def wait_gone(self, timeout_s: float) -> bool:
        """Waits until it has ended; False if it has not within the time."""
        process = self.process()
        if process is None:
            return True
        try:
            process.wait(timeout_s)
        except psutil.TimeoutExpired:
            return not self.is_alive()
        return True


def mark_of(pid: int | None = None) -> ProcessMark:
    process = psutil.Process(pid if pid is not None else os.getpid())
    return ProcessMark(process.pid, process.create_time())
