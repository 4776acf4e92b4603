"""A lease: the mark that one process runs a pipeline, or operates on it. It is kept beside the checkpoint that it guards.

Two things hold it: a file lock, which the system releases when the process dies, and the marks of the driver and its JVM.
A driver that was killed may leave its JVM alive for seconds, and that JVM still writes: free means that both are gone.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from filelock import FileLock, Timeout

from anabranch.checkpoint import messages
from anabranch.errors import AnabranchError, Refused
from anabranch.processes import ProcessMark, mark_of
from anabranch.storage.files import Format, read_text, remove
from anabranch.storage.location import CheckpointLocation

# How long an orphaned JVM is waited for: launched by us it is gone in milliseconds, another one took 2.3 s at most.
ORPHAN_TIMEOUT_S = 5.0


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

    def __init__(self, location: CheckpointLocation, lock: FileLock, holder: Holder, taken_over: Holder | None) -> None:
        self._location, self._lock, self._holder, self.taken_over = location, lock, holder, taken_over
        self._write()

    def name_jvm(self, pid: int) -> None:
        self._holder = replace(self._holder, jvm=mark_of(pid))
        self._write()

    def release(self) -> None:
        """A second call does nothing: another process may hold the lease by then."""
        if not self._lock.is_locked:
            return
        remove(self._location.lease)
        self._lock.release()

    def _write(self) -> None:
        LEASE.write(self._location.lease, self._holder)


def holder_of(location: CheckpointLocation) -> Holder | None:
    """Who holds the lease now; None if nobody does (a mark that a dead process left holds nothing)."""
    holder = _read(location)
    return holder if holder is not None and holder.is_alive() else None


def take_lease(location: CheckpointLocation, name: str, purpose: str) -> Lease:
    location.lease.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(location.lease_lock)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise _held(name, _read(location)) from None
    try:
        left = _read(location)
        if left is not None and not _is_gone(left):
            raise _held(name, left)
    except AnabranchError:
        lock.release()
        raise
    since = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return Lease(location, lock, Holder(purpose, mark_of(), None, socket.gethostname(), since), left)


@contextmanager
def alone_on(location: CheckpointLocation) -> Iterator[None]:
    """For checkpoints that are not ours, whose queries know no lease: two operations never work on one at the same time."""
    if not location.path.is_dir():
        raise messages.CHECKPOINT_GONE(path=str(location))
    location.operation_lock.parent.mkdir(exist_ok=True)
    try:
        held = FileLock(location.operation_lock).acquire(blocking=False)
    except Timeout:
        raise messages.BUSY(path=str(location)) from None
    with held:
        yield


def await_free(location: CheckpointLocation) -> None:
    """Returns when the lease is free."""
    # The system wakes us when the holder releases the lock; its JVM may need a moment more.
    with FileLock(location.lease_lock):
        holder = _read(location)
    if holder is not None:
        _is_gone(holder)


def _is_gone(holder: Holder) -> bool:
    if holder.host == socket.gethostname() and holder.jvm is not None:
        holder.jvm.wait_gone(ORPHAN_TIMEOUT_S)
    return not holder.is_alive()


def _held(name: str, holder: Holder | None) -> Refused:
    who = holder.describe() if holder else "another process, which is just starting"
    return messages.LEASE_HELD(name=name, holder=who)


def _read(location: CheckpointLocation) -> Holder | None:
    text = read_text(location.lease)
    # Empty: a disk that was full, or lost power. It holds nothing.
    return LEASE.decode(text, str(location.lease)) if text else None
