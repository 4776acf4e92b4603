"""The ledger: one JSON line for each record that the broker acknowledged, with its partition and offset.

Together with a pipeline's offset log it determines that pipeline's result. A run appends to an existing ledger, whose lines
stay valid. If a process is killed in the middle of a line, readers skip that line and the next run cuts it off.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from anabranch.errors import Failed
from anabranch.generator.messages import LEDGER_FOREIGN_FILE, LEDGER_NOT_WRITABLE
from anabranch.generator.recipe import RecordKind
from anabranch.generator.timeline import Made

# A visit's line has about 300 bytes: the end of the last whole line is nearly always within this tail.
_TAIL_BYTES = 65_536
_LINE_START = b'{"topic":'
_COORDINATES = ("topic", "partition", "offset", "timestamp", "kind")


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    topic: str
    partition: int
    offset: int
    # The Kafka record's timestamp, in milliseconds: the future guard compares event times with it.
    timestamp: int
    kind: RecordKind
    # Of a visit: its fields. Of any other event: `key`, `event_time`, `problem`, which the decoder reports of a bad record, and
    # the `event` itself. None where it cannot be read from a bad record, or, for the problem, where there is none or it varies.
    facts: Mapping[str, Any]


def read_ledger(path: Path) -> Iterator[LedgerEntry]:
    """The entries in the order of acknowledgement; within a partition that is the order of offsets."""
    with path.open(encoding="utf-8", newline="\n") as lines:
        for line in lines:
            if line.endswith("\n"):
                facts = json.loads(line)
                yield LedgerEntry(**{name: facts.pop(name) for name in _COORDINATES}, facts=facts)


class Ledger:
    """Collects lines; `flush` writes whole lines, and `close` flushes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lines: list[str] = []
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._whole_bytes = _cut_half_line(path) if path.is_file() else 0
            # Unbuffered: Python's buffer would be written in chunks that end in the middle of a line.
            self._file = path.open("ab", buffering=0)
        except OSError as error:
            raise self._failed(error) from error

    def add(self, topic: str, partition: int, offset: int, timestamp: int, made: Made) -> None:
        # Topic names need no JSON escapes. An encoder would take three times as long.
        coordinates = f'{{"topic":"{topic}","partition":{partition},"offset":{offset},"timestamp":{timestamp}'
        facts = made.value[1:-1].decode() if made.facts is None else made.facts
        self._lines.append(f'{coordinates},"kind":"{made.kind}",{facts}}}\n')

    def flush(self) -> None:
        if not self._lines:
            return
        text = "".join(self._lines).encode()
        self._lines.clear()
        try:
            _write_all(self._file.fileno(), text)
        except OSError as error:
            # A full disk accepts a part of a write: cut off what is not a whole line.
            with suppress(OSError):  # a pipe cannot be truncated
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
        return LEDGER_NOT_WRITABLE(path=str(self.path), reason=error.strerror or str(error))


def _write_all(file: int, text: bytes) -> None:
    left = memoryview(text)
    while left:
        left = left[os.write(file, left) :]


def _cut_half_line(path: Path) -> int:
    """The size of a ledger's whole lines. Cuts off the rest, which a killed process left."""
    size = path.stat().st_size
    with path.open("rb") as file:
        if size and not file.read(len(_LINE_START)).startswith(_LINE_START):
            # Some other file of the user's: it is not changed.
            raise LEDGER_FOREIGN_FILE(path=str(path))
        start, newline = size, -1
        while start and newline < 0:
            start = max(0, start - _TAIL_BYTES)
            file.seek(start)
            newline = file.read(_TAIL_BYTES).rfind(b"\n")
        whole = start + newline + 1
    if whole < size:
        os.truncate(path, whole)
    return whole
