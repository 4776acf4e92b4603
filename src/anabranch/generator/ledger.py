"""The ledger: one JSON line for each record that the broker has acknowledged, and where it lies.

With a pipeline's offset log it determines that pipeline's result. A run adds to a ledger that is there already: its
lines are still true. A file holds whole lines only; a line that a killed process left half is cut off by the next run,
and a reader passes over it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from anabranch.errors import Failed, Misused
from anabranch.generator.recipe import Kind
from anabranch.generator.visits import Made

# A line is about 300 bytes: this reaches back over any half line.
_TAIL_BYTES = 65_536
_LINE_START = b'{"topic":'


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    topic: str
    partition: int
    offset: int
    # The Kafka record's own, in milliseconds: the future guard judges by it.
    timestamp: int
    kind: Kind
    # None where a bad record does not show the field.
    event_id: str | None
    visit_id: str | None
    user_id: str | None
    event_time: str | None
    page: str | None
    browser: str | None


def read_ledger(path: Path) -> Iterator[LedgerEntry]:
    """The entries in the order of their acknowledgement; within a partition that is the order of offsets."""
    with path.open(encoding="utf-8", newline="\n") as lines:
        for line in lines:
            if line.endswith("\n"):
                yield LedgerEntry(**json.loads(line))


class Ledger:
    """Adds lines; `flush` writes them, whole, and `close` flushes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lines: list[str] = []
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._whole_bytes = _cut_half_line(path) if path.is_file() else 0
            # Unbuffered: Python's own buffer would be written in pieces that end in the middle of a line.
            self._file = path.open("ab", buffering=0)
        except OSError as error:
            raise self._failed(error) from error

    def add(self, topic: str, partition: int, offset: int, timestamp: int, made: Made) -> None:
        _, _, kind, _, event_id, visit_id, user_id, event_time, page, browser = made
        # Kafka's names of topics, and our fields, need no JSON escape. An encoder would take three times as long.
        coordinates = f'{{"topic":"{topic}","partition":{partition},"offset":{offset},"timestamp":{timestamp}'
        self._lines.append(
            f'{coordinates},"kind":"{kind}","event_id":"{event_id}","visit_id":"{visit_id}","user_id":"{user_id}",'
            f'"event_time":"{event_time}","page":"{page}","browser":"{browser}"}}\n'
            if kind != "bad"
            else f'{coordinates},"kind":"bad",{_json_fields(made)}}}\n'
        )

    def flush(self) -> None:
        if not self._lines:
            return
        text = "".join(self._lines).encode()
        self._lines.clear()
        try:
            _write_all(self._file.fileno(), text)
        except OSError as error:
            # A full disk takes a part of what it is given: give back what is not a whole line.
            with suppress(OSError):  # a pipe cannot
                os.ftruncate(self._file.fileno(), self._whole_bytes)
            raise self._failed(error) from error
        self._whole_bytes += len(text)

    def close(self) -> None:
        try:
            self.flush()
        finally:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None) -> None:
        self.close()

    def _failed(self, error: OSError) -> Failed:
        reason = error.strerror or str(error)
        return Failed(f"the ledger {self.path} cannot be written: {reason}.", "make room there, or give another --ledger")


def _json_fields(made: Made) -> str:
    fields = made._asdict()
    names = ("event_id", "visit_id", "user_id", "event_time", "page", "browser")
    return ",".join(f'"{name}":{json.dumps(fields[name])}' for name in names)


def _write_all(file: int, text: bytes) -> None:
    left = memoryview(text)
    while left:
        left = left[os.write(file, left) :]


def _cut_half_line(path: Path) -> int:
    """The size of a ledger in whole lines; what is behind them, left by a killed process, goes."""
    size = path.stat().st_size
    with path.open("rb") as file:
        if size and not file.read(len(_LINE_START)).startswith(_LINE_START):
            # Nor is it cut or written over: it may be anybody's.
            raise Misused(f"{path} is there, and is not a ledger.", "give another --ledger, or move that file away")
        start = max(0, size - _TAIL_BYTES)
        file.seek(start)
        whole = start + file.read().rfind(b"\n") + 1
    if whole < size:
        os.truncate(path, whole)
    return whole
