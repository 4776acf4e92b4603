"""The logs of a Structured Streaming checkpoint as values: what `metadata`, `offsets/N` and `commits/N` say.

Parsing never throws on what a disk may hold: a text that is not a log entry is None. What a source's text means is decided
in sources.py.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# Offsets of a Kafka source: topic -> partition -> offset, the end of the batch, exclusive.
KafkaOffsets = Mapping[str, Mapping[int, int]]
# Format 2 of the state: operator -> partition -> the ids of its stores. They name the state version N+1 of commits/N.
StateIds = Mapping[int, tuple[frozenset[str], ...]]

# The first line of a fence: no Spark knows that version, so no query can start on the log (docs/internals/rewinding.md).
FENCE = "v99999"
# What a hostile disk may make json and int throw.
_NOT_A_VALUE = (TypeError, ValueError, AttributeError, ArithmeticError)


@dataclass(frozen=True)
class OffsetEntry:
    """offsets/N: written before batch N runs. One text per source, in plan order; None where a source had nothing yet."""

    watermark_ms: int
    timestamp_ms: int
    conf: Mapping[str, str]
    sources: tuple[str | None, ...]
    # Version 2 names its sources; version 1 knows them by their place.
    source_ids: tuple[str, ...] = ()
    version: int = 1


@dataclass(frozen=True)
class CommitEntry:
    """commits/N: written after the sink has finished batch N."""

    next_watermark_ms: int
    state_ids: StateIds = field(default_factory=dict)
    version: int = 1


def parse_offsets(text: str) -> OffsetEntry | None:
    version, _, rest = text.partition("\n")
    head, *lines = rest.split("\n")
    about = json_object(head)
    if version not in ("v1", "v2") or about is None:
        return None
    lines = [line for line in lines if line]
    # Version 2: sourceId:json.
    named = [line.partition(":")[::2] for line in lines] if version == "v2" else [("", line) for line in lines]
    try:
        return OffsetEntry(
            watermark_ms=int(about.get("batchWatermarkMs", 0)),
            timestamp_ms=int(about.get("batchTimestampMs", 0)),
            conf={str(name): str(value) for name, value in about.get("conf", {}).items()},
            sources=tuple(None if source == "-" else source for _, source in named),
            source_ids=tuple(name for name, _ in named) if version == "v2" else (),
            version=int(version[1:]),
        )
    except _NOT_A_VALUE:
        return None


def parse_commit(text: str) -> CommitEntry | None:
    version, _, rest = text.partition("\n")
    about = json_object(rest)
    if version not in ("v1", "v2") or about is None:
        return None
    try:
        ids = about.get("stateUniqueIds") or {}
        return CommitEntry(
            int(about.get("nextBatchWatermarkMs", 0)),
            {int(operator): tuple(frozenset(map(str, stores)) for stores in held) for operator, held in ids.items()},
            int(version[1:]),
        )
    except _NOT_A_VALUE:
        return None


def parse_query_id(text: str) -> str | None:
    """`metadata`: the id of the query, kept over restarts."""
    found = (json_object(text) or {}).get("id")
    return found if isinstance(found, str) and found else None


def parse_kafka_offsets(source: str | None) -> KafkaOffsets | None:
    """`{"visits":{"0":0,"1":3}}`; None for the offsets of another kind of source."""
    topics = json_object(source or "")
    if not topics:
        return None
    try:
        return {topic: {int(partition): int(offset) for partition, offset in ends.items()} for topic, ends in topics.items()}
    except _NOT_A_VALUE:
        return None


def json_object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
