"""Times and dates as text, in SQL: which texts are one, and the instant or day that they name.

Spark's own cast would read 07:00:00 as today, 2025 as a day, and the word `now`, and takes the session's zone.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from anabranch.streaming.decoder.sql import literal, regex

_DATE: Final = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
# Not $, which also stands before a last newline.
_END: Final = r"\z"
USUAL_TIME: Final = rf"{_DATE}[T ][0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}(?:\.[0-9]{{1,9}}+)?+(?:Z|[+-][0-9]{{2}}:[0-9]{{2}})?+"
_USUAL: Final = regex(rf"^{USUAL_TIME}{_END}")
_DATE_AND_TIME: Final = rf"{_DATE}[T ][0-9]{{2}}:[0-9]{{2}}(:[0-9]{{2}}(\.[0-9]{{1,9}})?)?"
_ZONE: Final = "(Z|[+-][0-9]{2}(:?[0-9]{2})?)"
WIDE_YEAR: Final = regex(r"^([+-][0-9]{4,}|[0-9]{5,})-[0-9]{2}-[0-9]{2}[T ]")
# The years 2 to 9998 as written: in no zone one that Python does not have.
_YEARS: Final = "(?!000[01]|9999)"
DAY: Final = rf"(?!0000){_DATE}"
_DAY: Final = regex(rf"^{DAY}{_END}")

# 1970 to 9998, in UTC: Python and sinks stop at 9999.
_END_S: Final = int(datetime(9999, 1, 1, tzinfo=UTC).timestamp())


def usual_instant(time: str, zone: str, *, is_usual: str) -> str:
    """The instant of a time with seconds, as most are written; null for any other text. `is_usual`: it is known to be one."""
    has_zone = f"endswith({time}, 'Z') OR substring({time}, -6, 1) IN ('+', '-')"
    whole = f"CASE WHEN {has_zone} THEN {time} ELSE concat({time}, {literal(zone)}) END"
    return f"CASE WHEN {is_usual} OR rlike({time}, {_USUAL}) THEN try_cast({whole} AS TIMESTAMP) END"


def instant(time: str, zone: str, years: str = "") -> str:
    """The instant of any text that is a time; null where it is none, such as 30 February."""
    local, zoned = (regex(rf"^{years}{_DATE_AND_TIME}{end}{_END}") for end in ("", _ZONE))
    # The zone is written behind the time: cast alone would take the session's.
    whole = f"CASE WHEN rlike({time}, {local}) THEN concat({time}, {literal(zone)}) WHEN rlike({time}, {zoned}) THEN {time} END"
    # Spark reads a zone only behind seconds, and Java leaves out seconds that are 0.
    return f"try_cast(regexp_replace({whole}, {regex('^(.{16})(?!:)')}, '$1:00') AS TIMESTAMP)"


def any_instant(time: str, zone: str) -> str:
    """Of a time that is not the record's own, and may be long ago."""
    return instant(time, zone, _YEARS)


def day(text: str) -> str:
    return f"CASE WHEN rlike({text}, {_DAY}) THEN try_cast({text} AS DATE) END"


def is_event_time(time: str) -> str:
    return f"({time} >= timestamp_seconds(0) AND {time} < timestamp_seconds({_END_S}))"
