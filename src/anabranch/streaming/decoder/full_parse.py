"""The full parse: a record's fields and what is wrong with it, for records that the fast path does not match. In SQL, as an
array of one struct.

Each step is a lambda over an array of one, which gives names to what was computed before. Lambdas are interpreted, so that what
few records need does not make large what is compiled for all: methods of more than 8,000 bytes never are.
"""

from __future__ import annotations

from typing import Final

from anabranch.streaming.decoder.sql import first_of, literal, regex

IDS: Final = ("visit_id", "user_id")  # integers are welcome
TEXTS: Final = ("event_id", "page", "browser")  # strings only
_SPELLINGS: Final = {"user_id": "userId", "event_time": "eventTime"}
_READ: Final = (*TEXTS, *IDS, "event_time", *_SPELLINGS.values())

TEXT: Final = "cast(value AS STRING)"
# Evaluated once, where it is compiled: interpreted, Spark looks the function up again for each record.
_IS_NOT_UTF8: Final = "_fast_time IS NULL"
_BUT_LAST_BYTE: Final = "cast(substring(value, 1, octet_length(value) - 1) AS STRING)"
_KEYS: Final = f"json_object_keys({TEXT})"

# All as strings: a TIMESTAMP here would take epoch numbers as seconds and local times in the session's zone.
_SCHEMA: Final = ", ".join(f"{name} STRING" for name in (*_READ, "_corrupt"))
_STRICT: Final = "map('allowSingleQuotes', 'false', 'allowNonNumericNumbers', 'false', 'columnNameOfCorruptRecord', '_corrupt')"

# Spark alone would read 07:00:00 as today, 2025 as a day, and the word `now`. \z: a $ also stands before a last newline.
_DATE_AND_TIME: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?"
_LOCAL_TIME: Final = regex(_DATE_AND_TIME + r"\z")
_ZONED_TIME: Final = regex(_DATE_AND_TIME + r"(Z|[+-][0-9]{2}(:?[0-9]{2})?)\z")
_WIDE_YEAR: Final = regex(r"^([+-][0-9]{4,}|[0-9]{5,})-[0-9]{2}-[0-9]{2}[T ]")
_NUMBER: Final = regex(r'^(-?[0-9.]+(E-?[0-9]+)?|"-?Infinity")\z')  # as Spark writes a JSON number into a string
# What Spark may have written of a JSON value that is no string; numbers that are no integers always come with a point. It
# writes 1e999 as "Infinity", quotes and all.
_LIKE_A_VALUE: Final = regex(r'^([{\["]|true|false)|\.')
_LIKE_A_VALUE_OR_INTEGER: Final = regex(r'^([{\["0-9.-]|true|false)')
_BLANK: Final = regex(r"^[ \t\r\n]*\z")
_BEGINS_OBJECT: Final = regex(r"^[ \t\r\n]*\{")
_LAST_BRACE: Final = regex(r"\}[ \t\r\n]*\z")
_ESCAPE: Final = regex(r"\u")
_BACKSLASHES: Final = regex(r"\\\\")
_TWO_HALVES: Final = regex(r"(?i)\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}")
_HALF: Final = regex(r"(?i)\\ud[89a-f]")


def full_parse(zone: str) -> str:
    """What a record says, and what is wrong with it."""
    parsed = f"array(from_json({TEXT}, {literal(_SCHEMA)}, {_STRICT}))"
    return f"transform(transform({parsed}, event -> {_tested(zone)}), tested -> {_JUDGED})"


def spellings(name: str) -> list[str]:
    return [name, *([_SPELLINGS[name]] if name in _SPELLINGS else [])]


def _said(name: str) -> str:
    return first_of(*(f"event.{spelling}" for spelling in spellings(name)))


def _tested(zone: str) -> str:
    """The fields, their spellings made one, the time, and cheap tests that raise suspicion."""
    time = _said("event_time")
    return f"""struct(
        {", ".join(f"{_said(name)} AS _{name}" for name in (*TEXTS, *IDS))},
        {time} AS time,
        {_instant(time, zone)} AS _instant,
        event._corrupt IS NOT NULL AS is_corrupt,
        event._corrupt IS NOT NULL OR {time} IS NULL OR {_IS_NOT_UTF8} OR contains({TEXT}, {_ESCAPE}) AS is_doubtful,
        -- A brace before the last byte: the object may end before the record does. (Bytes: counting characters is slow.)
        contains({_BUT_LAST_BYTE}, '}}') OR NOT endswith({TEXT}, '}}') AS has_inner_brace
    )"""


def _instant(time: str, zone: str) -> str:
    """The zone is written behind the time: cast alone would take the session's."""
    local = f"WHEN rlike({time}, {_LOCAL_TIME}) THEN concat({time}, {literal(zone)})"
    whole = f"CASE {local} WHEN rlike({time}, {_ZONED_TIME}) THEN {time} END"
    # Spark reads a zone only behind seconds, and Java leaves out seconds that are 0.
    return f"try_cast(regexp_replace({whole}, {regex('^(.{16})(?!:)')}, '$1:00') AS TIMESTAMP)"


# The problems, in the order in which they are judged: the first that applies is the record's problem. They are kept in the lake
# and counted by users: never reword one.

# JSON, or none. Wrapped, because json_array_length is the one function that tells any JSON value from none.
_UNREADABLE: Final = f"""CASE
    WHEN contains({TEXT}, chr(0)) THEN 'NUL character'
    WHEN json_array_length(concat('[', {TEXT}, ']')) = 1 AND NOT rlike({TEXT}, {_BEGINS_OBJECT})
        THEN 'not an object' -- an array, a number, a string, null
    ELSE 'not JSON' -- also a BOM, single quotes, NaN, and what is over Jackson's limits of depth and digits
END"""

# An escaped backslash begins nothing, and two halves are a character.
_WITHOUT_PAIRS: Final = f"regexp_replace(regexp_replace({TEXT}, {_BACKSLASHES}, ''), {_TWO_HALVES}, '')"
_HAS_LONE_SURROGATE: Final = f"rlike({_WITHOUT_PAIRS}, {_HALF})"

# Is there more after the object? A key put in before the last brace is one more key, unless that brace is another's.
_STRETCHED: Final = f"""CASE
    WHEN endswith({TEXT}, '}}') THEN concat({_BUT_LAST_BYTE}, ',"":0}}')
    ELSE regexp_replace({TEXT}, {_LAST_BRACE}, ',"":0}}')
END"""
# Null for `{}`, where the comma is one too many.
_GOES_ON: Final = f"coalesce(size(json_object_keys({_STRETCHED})) = size({_KEYS}), false)"

_SAID: Final = ", ".join(f"tested.{name}" for name in (*(f"_{name}" for name in (*TEXTS, *IDS)), "time"))

# Why the record as a whole cannot be trusted.
_BROKEN: Final = f"""coalesce(
    CASE WHEN tested.is_doubtful THEN CASE
        WHEN {TEXT} IS NULL THEN 'null value' -- a tombstone; from_json makes a row of nulls of it
        WHEN rlike({TEXT}, {_BLANK}) THEN 'empty record' -- the same row of nulls
        WHEN {_IS_NOT_UTF8} THEN 'not UTF-8' -- from_json would put U+FFFD there, and two visits could become one
        -- Raw or escaped, in a field that is read: it cuts strings short in other systems.
        WHEN contains(concat_ws('', {_SAID}), chr(0)) THEN 'NUL character'
        WHEN tested.is_corrupt THEN {_UNREADABLE}
        -- Half a character, as an escape in a field that is read: Spark would make it "?".
        WHEN contains(concat_ws('', {_SAID}), '?') AND {_HAS_LONE_SURROGATE} THEN 'lone surrogate'
    END END,
    -- Or anything else after the object: from_json stops at its end.
    CASE WHEN tested.has_inner_brace AND {_GOES_ON} THEN 'more than one object' END,
    -- Any, at the top level: from_json silently takes the last.
    CASE WHEN size(array_distinct({_KEYS})) < size({_KEYS}) THEN 'duplicate key' END
)"""

_NO_INSTANT: Final = f"""CASE WHEN tested._instant IS NULL THEN CASE
    WHEN tested.time IS NULL THEN 'no event_time' -- missing or null
    WHEN rlike(tested.time, {_NUMBER}) THEN 'event_time is a number' -- quoted or not: its unit can only be guessed
    WHEN rlike(tested.time, {_WIDE_YEAR}) THEN 'event_time out of range'
    ELSE 'event_time is not a time'
END END"""


def _wrong_type(name: str) -> str:
    """Neither a string nor what else it may be. In a schema of strings, Spark writes any value out."""
    like_a_value = _LIKE_A_VALUE if name in IDS else _LIKE_A_VALUE_OR_INTEGER
    *others, last = (f"schema_of_variant(from_json({TEXT}, '{one} VARIANT').{one})" for one in spellings(name))
    type_ = first_of(*(f"nullif({other}, 'VOID')" for other in others), last)
    return f"CASE WHEN rlike(tested._{name}, {like_a_value}) AND NOT {type_} = 'STRING' THEN 'wrong type: {name}' END"


_JUDGED: Final = f"""struct(
    {", ".join(f"tested._{name} AS _{name}" for name in (*TEXTS, *IDS))},
    tested._instant AS _instant,
    {_BROKEN} AS _broken,
    {_NO_INSTANT} AS _no_instant,
    {first_of(*map(_wrong_type, (*IDS, *TEXTS)))} AS _wrong_type
)"""
