"""The logs of a Structured Streaming checkpoint as values: what `offsets/N` and `commits/N` say.

Parsing never throws on what a disk may hold: a text that is not a log entry is None.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# Offsets of a Kafka source: topic -> partition -> offset, the end of the batch, exclusive.
KafkaOffsets = Mapping[str, Mapping[int, int]]


@dataclass(frozen=True)
class OffsetEntry:
    """offsets/N: written before batch N runs. One text per source, in plan order; None where a source had nothing yet."""

    watermark_ms: int
    timestamp_ms: int
    conf: Mapping[str, str]
    sources: tuple[str | None, ...]


@dataclass(frozen=True)
class CommitEntry:
    """commits/N: written after the sink has finished batch N."""

    next_watermark_ms: int


def parse_offsets(text: str) -> OffsetEntry | None:
    version, _, rest = text.partition("\n")
    head, *sources = rest.split("\n")
    about = _json_object(head)
    if version not in ("v1", "v2") or about is None:
        return None
    if version == "v2":  # sourceId:json
        sources = [source.partition(":")[2] for source in sources]
    try:
        return OffsetEntry(
            watermark_ms=int(about.get("batchWatermarkMs", 0)),
            timestamp_ms=int(about.get("batchTimestampMs", 0)),
            conf={str(name): str(value) for name, value in about.get("conf", {}).items()},
            sources=tuple(None if source == "-" else source for source in sources if source),
        )
    except (TypeError, ValueError, AttributeError):
        return None


def parse_commit(text: str) -> CommitEntry | None:
    version, _, rest = text.partition("\n")
    about = _json_object(rest)
    if version not in ("v1", "v2") or about is None:
        return None
    try:
        return CommitEntry(int(about.get("nextBatchWatermarkMs", 0)))
    except (TypeError, ValueError):
        return None


def parse_kafka_offsets(source: str | None) -> KafkaOffsets | None:
    """`{"visits":{"0":0,"1":3}}`; None for the offsets of another kind of source."""
    topics = _json_object(source or "")
    if not topics:
        return None
    try:
        return {topic: {int(partition): int(offset) for partition, offset in ends.items()} for topic, ends in topics.items()}
    except (TypeError, ValueError, AttributeError):
        return None


def _json_object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
