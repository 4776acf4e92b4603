"""Storage and tables that stop working after so many effects: a process that is killed between any two of them."""

from __future__ import annotations

from collections.abc import Iterable

from anabranch.operations.change import Tables, WrittenRows
from anabranch.storage.local import Sizes, Storage


class Crash(BaseException):
    """Not an Exception: nothing may catch it and go on."""


class Countdown:
    def __init__(self, left: int) -> None:
        self.left = left

    def tick(self) -> None:
        if self.left == 0:
            raise Crash
        self.left -= 1


class CrashingStorage:
    def __init__(self, inner: Storage, countdown: Countdown) -> None:
        self._inner, self._countdown = inner, countdown

    @property
    def path(self) -> str:
        return self._inner.path

    @property
    def locations(self) -> tuple[str, ...]:
        return self._inner.locations

    def list(self) -> tuple[Sizes, tuple[str, ...]]:
        return self._inner.list()

    def size(self, path: str) -> int:
        return self._inner.size(path)

    def read(self, path: str, most_bytes: int) -> bytes | None:
        return self._inner.read(path, most_bytes)

    def holds(self, path: str) -> bool:
        return self._inner.holds(path)

    def create(self, path: str, content: bytes) -> bool:
        self._countdown.tick()
        return self._inner.create(path, content)

    def move(self, source: str, target: str) -> None:
        self._countdown.tick()
        self._inner.move(source, target)

    def sync(self, directories: Iterable[str]) -> None:
        self._countdown.tick()
        self._inner.sync(directories)


class MemoryTables:
    """The twin of a table, as far as a shift sees it: its rows are in or out."""

    def __init__(self, place: str = "in") -> None:
        self.place = place

    def delete_rows(self, rows: WrittenRows) -> None:
        del rows
        self.place = "out"

    def restore_rows(self, rows: WrittenRows) -> None:
        del rows
        self.place = "in"


class CrashingTables:
    def __init__(self, inner: Tables, countdown: Countdown) -> None:
        self._inner, self._countdown = inner, countdown

    def delete_rows(self, rows: WrittenRows) -> None:
        self._countdown.tick()
        self._inner.delete_rows(rows)

    def restore_rows(self, rows: WrittenRows) -> None:
        self._countdown.tick()
        self._inner.restore_rows(rows)
