"""A process that can be told apart from a later one with the same id: by its id and the moment it was created."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import psutil

# By the wall clock, what the kernel says of a start time can differ in its last digits between two reads.
_SAME_START_S = 1.0


@dataclass(frozen=True)
class ProcessMark:
    pid: int
    created_s: float
    # The boot and the tick at which it was created; None where the system does not tell, or 0.1.0 wrote the mark. A clock that
    # is set, by hand, by NTP or by a virtual machine that was paused, moves `created_s` and not this.
    birth: str | None

    def is_alive(self) -> bool:
        return self.process() is not None

    def process(self) -> psutil.Process | None:
        """The process, unless it is gone (or a zombie) or another one has its id now."""
        try:
            process = psutil.Process(self.pid)
            return process if self._is_same(process) and process.status() != psutil.STATUS_ZOMBIE else None
        except psutil.NoSuchProcess:
            return None

    def _is_same(self, process: psutil.Process) -> bool:
        if self.birth is not None:
            return _birth(self.pid) == self.birth
        return abs(process.create_time() - self.created_s) < _SAME_START_S

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
    return ProcessMark(process.pid, process.create_time(), _birth(process.pid))


def _birth(pid: int) -> str | None:
    """Linux alone counts ticks since a boot that has an id."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        # The name, in parentheses, may hold anything; the start is the 22nd field of all, the 20th behind it.
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return f"{boot}/{fields[19]}"
    except (OSError, IndexError):
        return None
