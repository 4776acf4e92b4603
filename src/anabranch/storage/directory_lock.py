"""A lock on a directory itself: whoever deletes files in it or beside it releases nothing. It ends with its process."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from anabranch.errors import PERMISSION_DENIED
from anabranch.storage.files import make_directory
from anabranch.storage.messages import FILE_DAMAGED

# A network file system may lock files and no directories, since a lock needs a file that is open for writing there.
_NO_DIRECTORY_LOCKS = {errno.EBADF, errno.EINVAL, errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EISDIR}


class DirectoryLock:
    """Held until `release`."""

    def __init__(self, locked: Path, handle: int, made: Path | None) -> None:
        self._locked, self._handle, self._made = locked, handle, made
        self.is_held = True

    def is_in_place(self) -> bool:
        """False: what is locked was moved or removed. Another process may lock what is there now."""
        return _is_at(self._handle, self._locked)

    def release(self) -> None:
        if self.is_held:
            self.is_held = False
            # A directory that was made to be locked, and that nothing was written into, goes with its lock.
            if self._made is not None:
                with suppress(OSError):
                    self._made.rmdir()
            os.close(self._handle)


def lock_directory(directory: Path, lock_file: Path, *, wait: bool = False) -> DirectoryLock | None:
    """None: another holds it. The directory is made if it is not there; the file serves where directories cannot be locked."""
    while True:
        try:
            is_new = make_directory(directory)
            handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            # The last holder has just removed it, empty.
            continue
        except PermissionError:
            raise PERMISSION_DENIED(path=str(directory)) from None
        except NotADirectoryError:
            raise FILE_DAMAGED(path=str(directory), what="it is no directory") from None
        locked = directory
        try:
            is_ours = _flock(handle, wait)
        except OSError as error:
            os.close(handle)
            if error.errno not in _NO_DIRECTORY_LOCKS:
                raise
            make_directory(lock_file.parent)
            handle, locked = os.open(lock_file, os.O_RDWR | os.O_CREAT, 0o600), lock_file
            is_ours = _flock(handle, wait)
        if is_ours and _is_at(handle, locked):
            return DirectoryLock(locked, handle, directory if is_new else None)
        os.close(handle)
        if not is_ours:
            return None


def _flock(handle: int, wait: bool) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_at(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except OSError:
        return False


def locked_by(directory: Path) -> int | None:
    """The process that holds the lock; None: nobody does, or the system does not tell. Linux lists all locks."""
    try:
        wanted = directory.stat()
        lines = Path("/proc/locks").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((pid for pid, inode in _flocks(lines) if inode == wanted.st_ino and _has_open(pid, wanted)), None)


def _flocks(lines: list[str]) -> Iterator[tuple[int, int]]:
    """Process and inode of each: `2: FLOCK ADVISORY WRITE 4814 fe:00:9986145 0 EOF`; one that waits has an arrow in front."""
    for line in lines:
        fields = line.split()
        if len(fields) == 8 and fields[1] == "FLOCK":
            yield int(fields[4]), int(fields[5].rpartition(":")[2])


def _has_open(pid: int, wanted: os.stat_result) -> bool:
    """The number of an inode is unique in one file system only."""
    try:
        return any(os.path.samestat(wanted, opened.stat()) for opened in _opened(pid))
    except OSError:
        return False


def _opened(pid: int) -> Iterator[Path]:
    for opened in Path(f"/proc/{pid}/fd").iterdir():
        if opened.exists():
            yield opened
