"""What a rewind needs of the place where a checkpoint is kept: list, read, create exclusively, move, sync.

Nothing can be removed or overwritten: what has to go is moved aside. A store that cannot create a file exclusively refuses,
since two operations could begin at once. Paths are relative to the checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

# Directory -> name -> size in bytes; -1: not measured.
Sizes = dict[str, dict[str, int]]
# From, to.
Move = tuple[str, str]
# Done, of how many.
OnProgress = Callable[[int, int], None]


class MoveConflict(Exception):
    """The source is not there and neither is the target, or both are."""

    def __init__(self, source: str, target: str) -> None:
        super().__init__(f"{source} -> {target}")
        self.source, self.target = source, target


class Storage(Protocol):
    @property
    def path(self) -> str: ...

    @property
    def locations(self) -> tuple[str, ...]:
        """All names that it has: Spark writes absolute ones into a checkpoint."""

    def list(self) -> tuple[Sizes, tuple[str, ...]]:
        """Directory -> name -> size, and the directories that cannot be listed. -1: not measured."""

    def names(self, directory: str) -> Sequence[str]:
        """The names in one directory, in no order; none if it is not there."""

    def size(self, path: str) -> int:
        """0: it is not there."""

    def read(self, path: str, most_bytes: int) -> bytes | None:
        """None: it is not there, cannot be read, or is larger."""

    def holds(self, path: str) -> bool: ...

    def create(self, path: str, content: bytes) -> bool:
        """Whole, and durable, or not at all; False if there is a file of that name."""

    def move(self, source: str, target: str) -> None:
        """FileNotFoundError without a source; FileExistsError if the target is there."""

    def move_all(self, moves: Sequence[Move], progress: OnProgress) -> None:
        """In this order, or in parallel. A move that was done before is skipped; MoveConflict where one cannot be done."""

    def sync(self, directories: Iterable[str]) -> None:
        """What was moved from or to these survives a loss of power. One that is not there is skipped."""
