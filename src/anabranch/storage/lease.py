"""A lease: the mark that one process runs a pipeline, or operates on it. It is kept beside the checkpoint that it guards.

Two things hold it: a lock on the checkpoint's directory, which the system releases when the process dies, and a file with the
marks of the driver and its JVM. A driver that was killed may leave its JVM alive for seconds, and that JVM still writes: free
means that both are gone. A mark tells a process from a later one with the same id, by the moment it was created. The file can
be deleted under a running query: then the lock still holds, and the holder writes the file again.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import psutil

from anabranch.errors import Refused
from anabranch.storage import messages
from anabranch.storage.directory_lock import DirectoryLock, lock_directory, locked_by
from anabranch.storage.files import CheckpointLocation, Format, read_text, remove

# By the wall clock, what the kernel says of a start time can differ in its last digits between two reads.
_SAME_START_S = 1.0
# How long an orphaned JVM is waited for: launched by us it is gone in milliseconds, another one took 2.3 s at most.
ORPHAN_TIMEOUT_S = 5.0


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


@dataclass(frozen=True)
class Holder:
    purpose: str
    driver: ProcessMark
    jvm: ProcessMark | None
    host: str
    since: str

    def describe(self) -> str:
        jvm = f", JVM {self.jvm.pid}" if self.jvm else ""
        return f"{self.purpose}, process {self.driver.pid}{jvm} on {self.host}, since {self.since}"

    def is_alive(self) -> bool:
        """Another host's processes cannot be seen from here: such a holder counts as alive."""
        if self.host != socket.gethostname():
            return True
        return self.driver.is_alive() or (self.jvm is not None and self.jvm.is_alive())


LEASE = Format("lease", 1, Holder)


class Lease:
    """Held from `take_lease` to `release`. `taken_over` is the dead holder that left it, if there was one."""

    def __init__(self, location: CheckpointLocation, lock: DirectoryLock, holder: Holder, taken_over: Holder | None) -> None:
        self._location, self._lock, self._holder, self.taken_over = location, lock, holder, taken_over
        self._write()

    def name_jvm(self, pid: int) -> None:
        self._holder = replace(self._holder, jvm=mark_of(pid))
        self._write()

    def renew(self) -> None:
        """Writes it again where someone deleted it. Raises if the checkpoint is another directory now: others may lock that."""
        if not self._lock.is_in_place():
            raise messages.CHECKPOINT_GONE(path=str(self._location))
        if not self._location.lease.exists():
            self._write()

    def release(self) -> None:
        """A second call does nothing: another process may hold the lease by then."""
        if not self._lock.is_held:
            return
        if self._lock.is_in_place():
            remove(self._location.lease)
        self._lock.release()

    def _write(self) -> None:
        LEASE.write(self._location.lease, self._holder)


def holder_of(location: CheckpointLocation) -> Holder | None:
    """Who holds the lease now; None if nobody does (a mark that a dead process left holds nothing)."""
    holder = _read(location)
    return holder if holder is not None and holder.is_alive() else _found_by_lock(location)


def take_lease(location: CheckpointLocation, name: str, purpose: str) -> Lease:
    lock = lock_directory(location.path, location.lease_lock)
    if lock is None:
        raise _held(name, holder_of(location))
    try:
        left = _read(location)
        if left is not None and not _is_gone(left):
            raise _held(name, left)
        return Lease(location, lock, Holder(purpose, mark_of(), None, socket.gethostname(), _utc(datetime.now(UTC))), left)
    except BaseException:
        lock.release()
        raise


@contextmanager
def alone_on(location: CheckpointLocation) -> Iterator[None]:
    """For checkpoints that are not ours, whose queries know no lease: two operations never work on one at the same time."""
    if not location.path.is_dir():
        raise messages.CHECKPOINT_GONE(path=str(location))
    lock = lock_directory(location.path, location.operation_lock)
    if lock is None:
        raise messages.BUSY(path=str(location))
    try:
        yield
    finally:
        lock.release()


def await_free(location: CheckpointLocation) -> None:
    """Returns when the lease is free."""
    # The system wakes us when the holder releases the lock; its JVM may need a moment more.
    lock = lock_directory(location.path, location.lease_lock, wait=True)
    assert lock is not None
    try:
        holder = _read(location)
    finally:
        lock.release()
    if holder is not None:
        _is_gone(holder)


def _is_gone(holder: Holder) -> bool:
    if holder.host == socket.gethostname() and holder.jvm is not None:
        holder.jvm.wait_gone(ORPHAN_TIMEOUT_S)
    return not holder.is_alive()


def _held(name: str, holder: Holder | None) -> Refused:
    who = holder.describe() if holder else "another process"
    return messages.LEASE_HELD(name=name, holder=who)


def _found_by_lock(location: CheckpointLocation) -> Holder | None:
    """The process that holds the lock, where the file that would name it is gone, or is not there yet."""
    pid = locked_by(location.path)
    if pid is None or not psutil.pid_exists(pid):
        return None
    mark = mark_of(pid)
    since = _utc(datetime.fromtimestamp(mark.created_s, UTC))
    return Holder("found by its lock", mark, None, socket.gethostname(), since)


def _utc(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


def _read(location: CheckpointLocation) -> Holder | None:
    text = read_text(location.lease)
    # Empty: a disk that was full, or lost power. It holds nothing.
    return LEASE.decode(text, str(location.lease)) if text else None
