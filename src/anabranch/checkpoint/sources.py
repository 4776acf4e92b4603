"""What the offsets of a source mean: Kafka, files, rate, Delta; a kind not known is shown as it stands.

Decides the kind by the text alone (a checkpoint does not say which source wrote it), from where to where a batch read, and how
many rows that is where the offsets tell. Knows no files.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from anabranch.checkpoint.layout import json_object, log_offset, parse_kafka_offsets

Kind = Literal["kafka", "file", "rate", "delta", "unknown"]


@dataclass(frozen=True)
class SourceRange:
    """What a batch read of one source. Kafka's end is exclusive; the log offset of files is the last entry read."""

    kind: Kind
    # As JSON has them; None where it is not known, or nothing was read yet.
    start: Any
    end: Any
    rows: int | None


def source_range(end: str | None, start: str | None, initial: str | None, *, is_first: bool) -> SourceRange:
    """`start` is the end of the batch before, `initial` what sources/<i>/0 holds, `is_first` that no batch was before."""
    kind = kind_of(end if end is not None else start, initial)
    begin = start if start is not None else initial if is_first and kind == "kafka" else None
    match kind:
        case "kafka":
            return _kafka(end, begin)
        case "file":
            return SourceRange(kind, -1 if is_first else log_offset(begin), log_offset(end), None)
        case "rate":
            first, last = _rate(begin, is_first), _rate(end, False)
            return SourceRange(kind, first, last, _rate_rows(end, first, last))
        case "delta":
            return SourceRange(kind, _delta(begin), _delta(end), None)
        case "unknown":
            return SourceRange(kind, _raw(begin), _raw(end), None)


def kind_of(source: str | None, initial: str | None) -> Kind:
    about = json_object(source or "")
    if about is None:
        # A bare number is the offset of many sources; only rate also keeps a number, the time it began, as its initial one.
        return "rate" if _number(source) is not None and _number(initial) is not None else "unknown"
    if set(about) == {"logOffset"}:
        return "file"
    if "reservoirVersion" in about:
        return "delta"
    if set(about) == {"offset", "timestamp"}:
        return "rate"
    return "unknown" if parse_kafka_offsets(source) is None else "kafka"


def _kafka(end: str | None, start: str | None) -> SourceRange:
    ends, starts = parse_kafka_offsets(end), parse_kafka_offsets(start)
    rows = None
    if ends is not None and starts is not None:
        # A partition that is new in this batch is read from its first record.
        read = [last - starts.get(topic, {}).get(p, 0) for topic, held in ends.items() for p, last in held.items()]
        rows = sum(read) if all(count >= 0 for count in read) else None
    return SourceRange("kafka", _as_json(starts), _as_json(ends), rows)


def _as_json(offsets: Mapping[str, Mapping[int, int]] | None) -> dict[str, dict[str, int]] | None:
    if offsets is None:
        return None
    return {topic: {str(partition): held[partition] for partition in sorted(held)} for topic, held in offsets.items()}


def _rate(source: str | None, is_first: bool) -> int | None:
    if is_first:
        return 0
    found = (json_object(source or "") or {}).get("offset", _number(source))
    return found if isinstance(found, int) else None


def _rate_rows(source: str | None, first: int | None, last: int | None) -> int | None:
    """`rate` counts seconds, whose rows are not written down; `rate-micro-batch` counts rows."""
    if json_object(source or "") is None or first is None or last is None:
        return None
    return last - first


def _delta(source: str | None) -> dict[str, Any] | None:
    about = json_object(source or "")
    return None if about is None else {"version": about.get("reservoirVersion"), "index": about.get("index")}


def _number(source: str | None) -> int | None:
    text = (source or "").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else None


def _raw(source: str | None) -> Any:
    if source is None:
        return None
    try:
        return json.loads(source)
    except (ValueError, RecursionError):
        return source
