"""Copies a checkpoint's log entries as they appear: what a query committed, also after Spark has purged it. No code of ours."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Any

# A few times in the shortest batch, so that none is purged unseen.
_LOOK_EVERY_S = 0.03


@dataclass(frozen=True)
class Committed:
    """Partition -> the half-open range that a batch read of the one topic, and when it was planned."""

    ranges: dict[int, tuple[int, int]]
    planned_ms: int


class LogWatch:
    def __init__(self, checkpoint: Path) -> None:
        self._checkpoint = checkpoint
        self._texts: dict[int, str] = {}
        self._committed: set[int] = set()
        self._over = Event()
        self._thread = Thread(target=self._watch, daemon=True)

    def __enter__(self) -> LogWatch:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._over.set()
        self._thread.join()
        self._look()

    def _watch(self) -> None:
        while not self._over.wait(_LOOK_EVERY_S):
            self._look()

    def _look(self) -> None:
        """An entry is moved to its place when it is whole, and stays as it is."""
        for batch in self._listed("offsets") - self._texts.keys():
            with suppress(FileNotFoundError):
                self._texts[batch] = (self._checkpoint / "offsets" / str(batch)).read_text(encoding="utf-8")
        self._committed |= self._listed("commits")

    def _listed(self, log: str) -> set[int]:
        directory = self._checkpoint / log
        return {int(path.name) for path in directory.iterdir() if path.name.isdecimal()} if directory.exists() else set()

    def committed(self, begin: int = 0) -> dict[int, Committed]:
        """Of one topic that was read from one offset in each partition."""
        found: dict[int, Committed] = {}
        before: dict[int, int] = {}
        for batch in sorted(self._committed):
            _, head, source = self._texts[batch].splitlines()
            ends = _ends(json.loads(source))
            ranges = {partition: (before.get(partition, begin), end) for partition, end in ends.items()}
            found[batch], before = Committed(ranges, json.loads(head)["batchTimestampMs"]), ends
        return found


def _ends(source: dict[str, Any]) -> dict[int, int]:
    (ends,) = source.values()
    return {int(partition): end for partition, end in ends.items()}
