"""A storage in memory: the fake of a directory, for tests and for the model that drives thousands of rewinds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from anabranch.storage.base import Move, OnProgress, Sizes
from anabranch.storage.local import move_one_by_one
from anabranch.storage.messages import NO_EXCLUSIVE_CREATE


class MemoryStorage:
    """A tree of path -> content."""

    def __init__(self, files: Mapping[str, bytes], path: str = "/memory", *, is_exclusive: bool = True) -> None:
        self.files, self.path, self.locations, self._is_exclusive = dict(files), path, (path,), is_exclusive

    def list(self) -> tuple[Sizes, tuple[str, ...]]:
        found: Sizes = {"": {}}
        for file, content in self.files.items():
            directory, _, name = file.rpartition("/")
            if directory.startswith("_rewind/"):
                continue
            found.setdefault(directory, {})[name] = len(content)
            while directory:
                found.setdefault(directory, {})
                directory = directory.rpartition("/")[0]
        return found, ()

    def names(self, directory: str) -> Sequence[str]:
        prefix = f"{directory}/" if directory else ""
        return sorted({file.removeprefix(prefix).partition("/")[0] for file in self.files if file.startswith(prefix)})

    def size(self, path: str) -> int:
        return len(self.files.get(path, b""))

    def read(self, path: str, most_bytes: int) -> bytes | None:
        content = self.files.get(path)
        return None if content is None or len(content) > most_bytes else content

    def holds(self, path: str) -> bool:
        return path in self.files or any(file.startswith(f"{path}/") for file in self.files)

    def create(self, path: str, content: bytes) -> bool:
        if not self._is_exclusive:
            raise NO_EXCLUSIVE_CREATE(path=self.path)
        if path in self.files:
            return False
        self.files[path] = content
        return True

    def move(self, source: str, target: str) -> None:
        moved = {file for file in self.files if file == source or file.startswith(f"{source}/")}
        if self.holds(target):
            raise FileExistsError(target)
        if not moved:
            raise FileNotFoundError(source)
        for file in moved:
            self.files[target + file.removeprefix(source)] = self.files.pop(file)

    def move_all(self, moves: Sequence[Move], progress: OnProgress) -> None:
        move_one_by_one(self, moves, progress)

    def sync(self, directories: Iterable[str]) -> None:
        del directories
