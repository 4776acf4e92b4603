"""A checkpoint in a directory of this machine."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from uuid import uuid4

from anabranch.storage.base import Move, MoveConflict, OnProgress, Sizes, Storage
from anabranch.storage.messages import NO_EXCLUSIVE_CREATE

# The longest path below the root: state/<operator>/<partition>/<store>/SSTs.
_MOST_LEVELS = 5
# What Spark keeps, and what we keep: a directory that is no checkpoint is not walked.
LEVEL_1 = ("offsets", "commits", "sources", "state", "_rewind")
# Sizes take two thirds of a walk. Those of the logs and of Hadoop's checksums are measured one by one, on request.
_NOT_MEASURED = ("offsets", "commits")
# Moves between two steps of progress.
_GROUP = 1000
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


class LocalStorage:
    """A directory of this machine."""

    def __init__(self, path: Path) -> None:
        self.path = os.path.abspath(path)  # noqa: PTH100 - resolve() would follow links; both names are wanted.
        self._made: set[str] = set()

    @property
    def locations(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((str(Path(self.path).resolve()), self.path)))

    def list(self) -> tuple[Sizes, tuple[str, ...]]:
        """Raises OSError where the directory itself cannot be listed."""
        found: Sizes = {}
        unreadable: list[str] = []
        with os.scandir(self.path) as entries:
            first = [(entry.name, entry.is_dir(), entry) for entry in entries]
        for name, is_dir, _ in first:
            if is_dir and name in LEVEL_1:
                level = 1 if name != "_rewind" else _MOST_LEVELS
                _walk(f"{self.path}/{name}", name, found, unreadable, level)
        found[""] = {name: _size(entry) for name, is_dir, entry in first if not is_dir}
        return found, tuple(unreadable)

    def names(self, directory: str) -> Sequence[str]:
        try:
            return os.listdir(f"{self.path}/{directory}")  # noqa: PTH208 - 10,000 of them: a Path for each takes as long again
        except (FileNotFoundError, NotADirectoryError):
            return ()

    def size(self, path: str) -> int:
        try:
            return os.stat(f"{self.path}/{path}").st_size  # noqa: PTH116 - as in `read`
        except (OSError, ValueError):
            return 0

    def read(self, path: str, most_bytes: int) -> bytes | None:
        try:
            # 20,000 of them: a Path costs as much as the read.
            with open(f"{self.path}/{path}", "rb", buffering=0) as file:  # noqa: PTH123
                if os.fstat(file.fileno()).st_size > most_bytes:
                    return None
                return file.read(most_bytes)
        except (OSError, ValueError):
            return None

    def holds(self, path: str) -> bool:
        return os.path.lexists(f"{self.path}/{path}")

    def create(self, path: str, content: bytes) -> bool:
        # Written elsewhere and linked: a link is created whole or not at all, and only where there is no file yet.
        self._make_directory("_rewind")
        temporary = f"{self.path}/_rewind/.{uuid4().hex}.tmp"
        try:
            with open(temporary, "xb") as file:  # noqa: PTH123 - as above
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            directory = path.rpartition("/")[0]
            self._make_directory(directory)
            try:
                os.link(temporary, f"{self.path}/{path}")
            except FileExistsError:
                return False
            except OSError as error:
                if error.errno in _NO_LINKS:
                    raise NO_EXCLUSIVE_CREATE(path=self.path) from None
                raise
            self.sync([directory])
        finally:
            Path(temporary).unlink(missing_ok=True)
        return True

    def move(self, source: str, target: str) -> None:
        self._make_directory(target.rpartition("/")[0])
        rename_exclusively(f"{self.path}/{source}", f"{self.path}/{target}")

    def move_all(self, moves: Sequence[Move], progress: OnProgress) -> None:
        move_one_by_one(self, moves, progress)

    def sync(self, directories: Iterable[str]) -> None:
        for directory in directories:
            try:
                handle = os.open(f"{self.path}/{directory}", os.O_RDONLY)
            except FileNotFoundError:
                continue
            try:
                os.fsync(handle)
            finally:
                os.close(handle)

    def _make_directory(self, directory: str) -> None:
        if directory not in self._made:
            Path(self.path, directory).mkdir(parents=True, exist_ok=True)
            self._made.add(directory)


def _walk(path: str, name: str, listing: Sizes, unreadable: list[str], level: int) -> None:
    names: dict[str, int] = {}
    directories: list[str] = []
    try:
        with os.scandir(path) as entries:
            if name in _NOT_MEASURED:
                names = {entry.name: -1 for entry in entries if not entry.is_dir(follow_symlinks=False)}
            else:
                _measure(entries, names, directories)
    except FileNotFoundError:
        return
    except OSError:
        unreadable.append(name)
    listing[name] = names
    if level < _MOST_LEVELS:
        for directory in directories:
            _walk(f"{path}/{directory}", f"{name}/{directory}", listing, unreadable, level + 1)


def _measure(entries: Iterable[os.DirEntry[str]], names: dict[str, int], directories: list[str]) -> None:
    for entry in entries:
        file = entry.name
        if file.endswith(".crc"):
            names[file] = -1
        # Links are not followed below the first level: they could lead round in a circle.
        elif entry.is_dir(follow_symlinks=False):
            directories.append(file)
        else:
            names[file] = _size(entry)


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat().st_size
    except OSError:
        # Gone since, or a link to nowhere: it is listed, and reading it will tell.
        return -1


def move_one_by_one(storage: Storage, moves: Sequence[Move], progress: OnProgress) -> None:
    for number, (source, target) in enumerate(moves):
        if number % _GROUP == 0:
            progress(number, len(moves))
        try:
            storage.move(source, target)
        except (FileNotFoundError, FileExistsError):
            if storage.holds(source) or not storage.holds(target):
                raise MoveConflict(source, target) from None
    progress(len(moves), len(moves))


_NOREPLACE = 1
_HERE = -100
# The kernel or the file system does not know it.
_UNKNOWN = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP}


def rename_exclusively(source: str, target: str) -> None:
    """FileNotFoundError without a source; FileExistsError if the target is there."""
    if _RENAMEAT2 is not None:
        if _RENAMEAT2(_HERE, os.fsencode(source), _HERE, os.fsencode(target), _NOREPLACE) == 0:
            return
        error = ctypes.get_errno()
        if error not in _UNKNOWN:
            raise OSError(error, os.strerror(error), source, None, target)
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
    os.rename(source, target)  # noqa: PTH104 - 40,000 of them


def _renameat2() -> Callable[[int, bytes, int, bytes, int], int] | None:
    """Linux since 3.15, with glibc since 2.28 or musl."""
    try:
        function = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return None
    function.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    function.restype = ctypes.c_int
    return function


_RENAMEAT2 = _renameat2()
