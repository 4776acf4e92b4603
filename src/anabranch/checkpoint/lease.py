"""A lease: the mark that one process runs a pipeline, or operates on it. It lies beside the checkpoint that it guards.

Two things hold it: a file lock, which the system takes away when the process dies, and the marks of the driver and its JVM.
A driver that was killed may leave its JVM alive for seconds, and that JVM still writes: free means that both are gone.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from anabranch.errors import Failed, Refused
from anabranch.processes import ProcessMark, mark_of
from anabranch.storage.files import read_json, write_whole

# How long an orphaned JVM is waited for: with our own launch it is gone in milliseconds, a foreign one took 2.3 s at most.
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
        """Of another host nothing can be seen from here: its holder counts as alive."""
        if self.host != socket.gethostname():
            return True
        return self.driver.is_alive() or (self.jvm is not None and self.jvm.is_alive())


class Lease:
    """Held from `take_lease` to `release`. `taken_over` is the dead holder that left it, if there was one."""

    def __init__(self, path: Path, lock: FileLock, holder: Holder, taken_over: Holder | None) -> None:
        self._path, self._lock, self._holder, self.taken_over = path, lock, holder, taken_over
        self._write()

    def name_jvm(self, pid: int) -> None:
        self._holder = replace(self._holder, jvm=mark_of(pid))
        self._write()

    def release(self) -> None:
        """Done twice, it does nothing the second time: another may hold the lease by then."""
        if not self._lock.is_locked:
            return
        self._path.unlink(missing_ok=True)
        self._lock.release()

    def _write(self) -> None:
        write_whole(self._path, json.dumps(asdict(self._holder)))


def lease_path(checkpoint: Path) -> Path:
    return checkpoint.with_name(f"{checkpoint.name}.lease")


def holder_of(checkpoint: Path) -> Holder | None:
    """Who holds the lease now; None if nobody does (a mark that a dead process left holds nothing)."""
    holder = _read(lease_path(checkpoint))
    return holder if holder is not None and holder.is_alive() else None


def take_lease(checkpoint: Path, name: str, purpose: str) -> Lease:
    path = lease_path(checkpoint)
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path.with_name(f"{path.name}.lock"))
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise _held(name, _read(path)) from None
    left = _read(path)
    if left is not None and not _is_gone(left):
        lock.release()
        raise _held(name, left)
    since = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return Lease(path, lock, Holder(purpose, mark_of(), None, socket.gethostname(), since), left)


@contextmanager
def alone_on(checkpoint: Path) -> Iterator[None]:
    """For checkpoints that are not ours, whose queries know no lease: at least two operations never work on one at once."""
    if not checkpoint.is_dir():
        raise Failed(f"there is no checkpoint at {checkpoint} any more.", "put it back where it was")
    ours = checkpoint / "_rewind"
    ours.mkdir(exist_ok=True)
    try:
        held = FileLock(ours / "lock").acquire(blocking=False)
    except Timeout:
        raise Refused(
            f"another operation works on {checkpoint} at this moment.", "anabranch operations   shows when it is done"
        ) from None
    with held:
        yield


def _is_gone(holder: Holder) -> bool:
    if holder.host == socket.gethostname() and holder.jvm is not None:
        holder.jvm.wait_gone(ORPHAN_TIMEOUT_S)
    return not holder.is_alive()


def _held(name: str, holder: Holder | None) -> Refused:
    who = holder.describe() if holder else "another process, which is just starting"
    return Refused(f"{name} is held: {who}.", f"anabranch stop {name}   ends it after its batch", "anabranch status")


def _read(path: Path) -> Holder | None:
    found = read_json(path)
    if found is None:
        return None
    try:
        jvm = ProcessMark(**found["jvm"]) if found["jvm"] else None
        return Holder(found["purpose"], ProcessMark(**found["driver"]), jvm, found["host"], found["since"])
    except (KeyError, TypeError):
        return None


def await_free(checkpoint: Path) -> None:
    """Returns when nobody holds the lease any more."""
    path = lease_path(checkpoint)
    # The system wakes us when the holder lets go of the lock; its JVM may need a moment more.
    with FileLock(path.with_name(f"{path.name}.lock")):
        holder = _read(path)
    if holder is not None:
        _is_gone(holder)
