"""Reads a checkpoint directory: which batches are planned and committed, and what their entries say. Needs no Spark."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from anabranch.checkpoint.logs import (
    CommitEntry,
    KafkaOffsets,
    OffsetEntry,
    parse_commit,
    parse_kafka_offsets,
    parse_offsets,
)


@dataclass(frozen=True)
class Checkpoint:
    path: Path

    def exists(self) -> bool:
        return bool(self.planned_batches())

    def planned_batches(self) -> list[int]:
        return _batches(self.path / "offsets")

    def committed_batches(self) -> list[int]:
        return _batches(self.path / "commits")

    def offsets(self, batch: int) -> OffsetEntry | None:
        return parse_offsets(_text(self.path / "offsets" / str(batch)))

    def commit(self, batch: int) -> CommitEntry | None:
        return parse_commit(_text(self.path / "commits" / str(batch)))

    def kafka_ends(self, batch: int) -> KafkaOffsets:
        """Where batch N ends; -1 is where batch 0 begins, which Spark keeps with the source."""
        if batch < 0:
            # A line with its version, then the offsets (Spark writes a NUL in front of it for the sake of Spark 2.1).
            text = _text(self.path / "sources" / "0" / "0").lstrip("\0").partition("\n")[2]
            return parse_kafka_offsets(text) or {}
        entry = self.offsets(batch)
        return (parse_kafka_offsets(entry.sources[0]) if entry and entry.sources else None) or {}

    def next_start(self) -> KafkaOffsets:
        """Where the next batch to run begins: an uncommitted one runs again, from where the one before it ended."""
        planned, committed = self.planned_batches(), set(self.committed_batches())
        if not planned:
            return {}
        newest = planned[-1]
        return self.kafka_ends(newest if newest in committed else newest - 1)


def _batches(directory: Path) -> list[int]:
    """Only file names that parse as integers are batches."""
    try:
        return sorted(int(entry.name) for entry in directory.iterdir() if entry.name.isdecimal())
    except (FileNotFoundError, NotADirectoryError):
        return []


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
