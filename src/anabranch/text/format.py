"""Values as people write and read them: durations, times, sizes, and text from outside made safe for a terminal."""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from anabranch.text.messages import (
    DURATION_MALFORMED,
    DURATION_TOO_FINE,
    DURATION_TOO_LONG,
    TIME_MALFORMED,
    TIME_NONEXISTENT,
    TOPIC_NAME_ILLEGAL,
)

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
# 9999-12-31T23:59:59.999Z: beyond it a calendar ends, and a log that says so is damaged.
_LAST_MS = 253_402_300_799_999
# 100 years: longer than any stream, and far within the microseconds that Spark counts in a long.
_LONGEST_S = 36_500 * 86_400.0
# Kafka's own rule.
_TOPIC_NAME = re.compile(r"(?!\.{1,2}\Z)[a-zA-Z0-9._-]{1,249}")
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
    if total_s > _LONGEST_S:
        raise DURATION_TOO_LONG(text=text)
    return total_s


def parse_whole_ms_s(text: str) -> float:
    """A duration as Spark takes it. A part of a millisecond would be rounded away: 0.4 ms would become a window of 0."""
    duration_s = parse_duration_s(text)
    if not math.isclose(duration_s * 1000, round(duration_s * 1000)):
        raise DURATION_TOO_FINE(text=text)
    return duration_s


def parse_topic_name(text: str) -> str:
    if _TOPIC_NAME.fullmatch(text) is None:
        raise TOPIC_NAME_ILLEGAL(name=text)
    return text


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


def iso_utc(epoch_ms: int) -> str:
    moment = datetime.fromtimestamp(epoch_ms / 1000, UTC)
    return moment.isoformat(timespec="milliseconds" if epoch_ms % 1000 else "seconds").replace("+00:00", "Z")


def utc_ms(text: str) -> int:
    """What `iso_utc` has written."""
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def instant(epoch_ms: int) -> str | None:
    """None for no time (0, Spark's watermark before the first event) and for what no calendar has."""
    return iso_utc(epoch_ms) if 0 < epoch_ms <= _LAST_MS else None


def parse_instant(text: str, zone: str) -> datetime:
    """An ISO-8601 time. `zone` applies if the text names no zone."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise TIME_MALFORMED(text=text) from None
    if moment.tzinfo:
        return moment
    local = moment.replace(tzinfo=ZoneInfo(zone))
    # A time in a daylight-saving gap comes back from UTC as another one.
    if local.astimezone(UTC).astimezone(local.tzinfo).replace(tzinfo=None) != moment:
        raise TIME_NONEXISTENT(text=text, zone=zone)
    return local


def human_bytes(count: int) -> str:
    size = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" or size >= 10 else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:,.1f} TB"


def escape_control_chars(text: str) -> str:
    """Escapes every character that is not printable (control, format, private, unassigned), except a tab.

    A control character could move the cursor, change colours or reverse the line.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\t" else _escape(char) for char in text)


def escape_lines(text: str) -> str:
    """The same for text whose line breaks are our own: they are kept."""
    return "\n".join(map(escape_control_chars, text.split("\n")))


def escaped_json(value: object, indent: int | None = None) -> str:
    """JSON of the same value. Characters that are not printable occur only in its strings, and are escaped there."""
    lines = json.dumps(value, ensure_ascii=False, indent=indent).split("\n")
    return "\n".join(line if line.isprintable() else _escaped_in_json(line) for line in lines)


def _escaped_in_json(line: str) -> str:
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in line)


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
