"""Storage and a sink that stop working after so many effects: a process that is killed between any two of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from anabranch.operations.change import SinkChange
from anabranch.storage.base import Move, OnProgress, Sizes, Storage
from anabranch.storage.local import move_one_by_one


class Crash(BaseException):
    """Not an Exception: nothing may catch it and continue."""


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

    def names(self, directory: str) -> Sequence[str]:
        return self._inner.names(directory)

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

    def move_all(self, moves: Sequence[Move], progress: OnProgress) -> None:
        move_one_by_one(self, moves, progress)

    def sync(self, directories: Iterable[str]) -> None:
        self._countdown.tick()
        self._inner.sync(directories)


class MemorySink:
    """The fake of a sink, as far as a change sees it: its rows are in or out."""

    def __init__(self, place: str = "in") -> None:
        self.place = place

    def __call__(self, change: SinkChange) -> None:
        if change.action != "leave":
            self.place = "out" if change.action == "take back" else "in"


def crashing(inner: Callable[[SinkChange], None], countdown: Countdown) -> Callable[[SinkChange], None]:
    def change_sink(change: SinkChange) -> None:
        countdown.tick()
        inner(change)

    return change_sink
