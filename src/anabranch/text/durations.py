"""Durations as people write them: `20s`, `10 minutes`, `1h30m`, `500ms`."""

from __future__ import annotations

import re

from anabranch.text.messages import DURATION_MALFORMED

_SECONDS = {
    "ms": 0.001,
    "s": 1,
    "sec": 1,
    "second": 1,
    "m": 60,
    "min": 60,
    "minute": 60,
    "h": 3600,
    "hour": 3600,
    "d": 86400,
    "day": 86400,
}
_PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*")


def parse_duration_s(text: str) -> float:
    """The seconds of a written duration. A bare `0` is a duration. A bare `20` is rejected: its unit is unknown."""
    if text.strip() == "0":
        return 0.0
    total_s, end = 0.0, 0
    for part in _PART.finditer(text.lower()):
        if part.start() != end or (unit_s := _unit_s(part[2])) is None:
            break
        total_s, end = total_s + float(part[1]) * unit_s, part.end()
    if end == 0 or end != len(text):
        raise DURATION_MALFORMED(text=text)
    return total_s


def _unit_s(unit: str) -> float | None:
    # Only words have a plural: `5 mins` is accepted, `5ss` is not.
    return _SECONDS.get(unit) or (_SECONDS.get(unit.removesuffix("s")) if len(unit) > 2 else None)


def format_duration(duration_s: float) -> str:
    """The shortest form that `parse_duration_s` reads back: 90 -> `1m30s`, 0.5 -> `500ms`."""
    if duration_s <= 0:
        return "0"
    left_ms = round(duration_s * 1000)
    parts = []
    for unit, unit_ms in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)):
        count, left_ms = divmod(left_ms, unit_ms)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0"
