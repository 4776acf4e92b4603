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
# What exists: a text that matches can be cast.
_DAY_OF_YEAR: Final = (
    "(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))"
)
_LEAP_YEAR: Final = "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)"
_EXISTING_DATE: Final = f"(?:[0-9]{{4}}-{_DAY_OF_YEAR}|{_LEAP_YEAR}-02-29)"
_OFFSET: Final = "[+-](?:0[0-9]|1[0-7]):[0-5][0-9]"
USUAL_TIME: Final = rf"{_EXISTING_DATE}[T ](?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{{1,9}}+)?+(?:Z|{_OFFSET})?+"
_DATE_AND_TIME: Final = rf"{_DATE}[T ][0-9]{{2}}:[0-9]{{2}}(:[0-9]{{2}}(\.[0-9]{{1,9}})?)?"
_ZONE: Final = "(Z|[+-][0-9]{2}(:?[0-9]{2})?)"
WIDE_YEAR: Final = regex(r"^([+-][0-9]{4,}|[0-9]{5,})-[0-9]{2}-[0-9]{2}[T ]")
# The years 2 to 9998 as written: in no zone one that Python does not have.
YEARS: Final = "(?!000[01]|9999)"
_NOT_YEAR_0: Final = "(?!0000)"
USUAL_DAY: Final = _NOT_YEAR_0 + _EXISTING_DATE
_DAY: Final = regex(rf"^{_NOT_YEAR_0}{_DATE}{_END}")

# 1970 to 9998, in UTC: Python and sinks stop at 9999.
_END_S: Final = int(datetime(9999, 1, 1, tzinfo=UTC).timestamp())


def usual_instant(time: str, zone: str) -> str:
    """The instant of a text that matches USUAL_TIME."""
    has_zone = f"endswith({time}, 'Z') OR substring({time}, -6, 1) IN ('+', '-')"
    whole = f"CASE WHEN {has_zone} THEN {time} ELSE concat({time}, {literal(zone)}) END"
    return f"try_cast({whole} AS TIMESTAMP)"


def instant(time: str, zone: str, years: str = "") -> str:
    """The instant of any text that is a time; null where it is none, such as 30 February."""
    local, zoned = (regex(rf"^{years}{_DATE_AND_TIME}{end}{_END}") for end in ("", _ZONE))
    # The zone is written behind the time: cast alone would take the session's.
    whole = f"CASE WHEN rlike({time}, {local}) THEN concat({time}, {literal(zone)}) WHEN rlike({time}, {zoned}) THEN {time} END"
    # Spark reads a zone only behind seconds, and Java leaves out seconds that are 0.
    return f"try_cast(regexp_replace({whole}, {regex('^(.{16})(?!:)')}, '$1:00') AS TIMESTAMP)"


def any_instant(time: str, zone: str) -> str:
    """Of a time that is not the record's own, and may be long ago."""
    return instant(time, zone, YEARS)


def day(text: str) -> str:
    return f"CASE WHEN rlike({text}, {_DAY}) THEN try_cast({text} AS DATE) END"


def is_event_time(time: str) -> str:
    return f"({time} >= timestamp_seconds(0) AND {time} < timestamp_seconds({_END_S}))"
