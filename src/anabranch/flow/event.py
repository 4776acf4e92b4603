"""The one decoder: what a Kafka record says as a visit event, or which problem it has. Stream and batch alike.

A function on columns: no UDF, no action, no clock, no session. It does not know which pipeline asks, and what it says
of a record depends on nothing but the record and the two parameters. It never throws, whatever the bytes.

What the result holds, in this order (event_time first: Delta keeps statistics of a table's first columns):

    event_time                                TIMESTAMP, to the microsecond; null where there is none that can be used
    event_id, visit_id, user_id, page, browser    text, each may be null; to be trusted only where problem is null
    problem                                   null: a good event
    topic, partition, offset, record_time     where the record is, and Kafka's own time of it
    key, value, headers                       as they came, where the source has them

Decided here:
* `userId` and `eventTime` are read where the canonical name is missing or null. Names are case-sensitive, others are ignored.
* Ids may be integers of any length: their digits are the text (-0 is 0). 1.0 and 1e3 are neither integers nor strings.
* A time is `2025-09-04T07:00[:00[.1 to 9 digits]]`, T or a space, then nothing, `Z`, `+02`, `+0200` or `+02:00`; what is
  finer than a microsecond is cut off. Region names (`[Europe/Paris]`) are no part of ISO-8601 and no time.
* A local time that a zone skips moves on by the gap, one that it has twice is the first of the two, as in java.time.
* A record whose JSON cannot be trusted as a whole has no event_time; one with another problem keeps a time that is in range.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from anabranch.flow.plain import plain_field, plain_instant, plain_time

# The problems, in the order in which they are judged: the first that applies is the record's problem. They are kept in
# the lake and counted by users: never reword one.
NULL_VALUE: Final = "null value"  # a tombstone; from_json makes a row of nulls of it
EMPTY_RECORD: Final = "empty record"  # nothing or only white space: the same row of nulls
NOT_UTF8: Final = "not UTF-8"  # from_json would put U+FFFD there, and two visits could become one
NUL_CHARACTER: Final = "NUL character"  # raw or as \u0000 in a field that is read: cuts strings short in other systems
NOT_AN_OBJECT: Final = "not an object"  # JSON, but an array, a number, a string, null
NOT_JSON: Final = "not JSON"  # also a BOM, single quotes, NaN, and what is over Jackson's limits of depth and digits
LONE_SURROGATE: Final = "lone surrogate"  # half a character, as \ud800 in a field that is read: Spark would make it "?"
MORE_THAN_ONE_OBJECT: Final = "more than one object"  # or anything else after the object: from_json stops at its end
DUPLICATE_KEY: Final = "duplicate key"  # any at the top level: from_json takes the last in silence
NO_EVENT_TIME: Final = "no event_time"  # missing or null
EVENT_TIME_IS_A_NUMBER: Final = "event_time is a number"  # quoted or not: its unit can only be guessed
EVENT_TIME_IS_NOT_A_TIME: Final = "event_time is not a time"
EVENT_TIME_OUT_OF_RANGE: Final = "event_time out of range"  # before 1970 or after 9998, in UTC: Python and sinks stop at 9999
EVENT_TIME_IN_THE_FUTURE: Final = "event_time in the future"  # it would push the watermark over everything behind it
WRONG_TYPE: Final = "wrong type: "  # and the field's name: a boolean, object, array, or a number that has no text of its own

IDS: Final = ("visit_id", "user_id")  # integers are welcome
TEXTS: Final = ("event_id", "page", "browser")  # strings only
_SPELLINGS: Final = {"user_id": "userId", "event_time": "eventTime"}
_READ: Final = (*TEXTS, *IDS, "event_time", *_SPELLINGS.values())
_COORDINATES: Final = ("topic", "partition", "offset")
_BYTES: Final = ("key", "value", "headers")

# All as strings: a TIMESTAMP here would take epoch numbers as seconds and local times in the session's zone.
_SCHEMA: Final = ", ".join(f"{name} STRING" for name in (*_READ, "_corrupt"))
_STRICT: Final = {"allowSingleQuotes": "false", "allowNonNumericNumbers": "false", "columnNameOfCorruptRecord": "_corrupt"}

# Spark alone would read 07:00:00 as today, 2025 as a day, and the word `now`. \z: a $ also stands before a last newline.
_DATE_AND_TIME: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?"
_LOCAL_TIME: Final = _DATE_AND_TIME + r"\z"
_ZONED_TIME: Final = _DATE_AND_TIME + r"(Z|[+-][0-9]{2}(:?[0-9]{2})?)\z"
_WIDE_YEAR: Final = r"^([+-][0-9]{4,}|[0-9]{5,})-[0-9]{2}-[0-9]{2}[T ]"
_NUMBER: Final = r'^(-?[0-9.]+(E-?[0-9]+)?|"-?Infinity")\z'  # as Spark writes a JSON number into a string
# What Spark may have written of a JSON value that is no string; numbers that are no integers always come with a point.
_LIKE_A_VALUE: Final = r'^([{\["]|true|false)|\.'
_LIKE_A_VALUE_OR_INTEGER: Final = r'^([{\["0-9.-]|true|false)'
_END_S: Final = int(datetime(9999, 1, 1, tzinfo=UTC).timestamp())


def decode(records: DataFrame, *, zone: str, future_tolerance_s: float | None) -> DataFrame:
    """The events of Kafka records. A time without a zone is in `zone`; a tolerance of None lets any future pass.

    Most records are plain (plain.py): nothing but their time can be wrong. The odd ones are parsed and asked all questions.
    """
    kept = records.select("timestamp", *_COORDINATES, *(name for name in _BYTES if name in records.columns))
    looked_at = _behind_barrier(kept, F.array(F.struct(plain_time(_text()).alias("_plain_time"))))
    plain = F.when(~_is_odd(), plain_instant(F.col("_plain_time"), zone))
    timed = _behind_barrier(looked_at, F.array(F.struct(plain.alias("_plain_instant"))))
    judged = _behind_barrier(timed, F.when(_is_odd(), _odd(zone)))
    instant = F.coalesce("_plain_instant", "_instant")
    in_range = (instant >= F.timestamp_seconds(F.lit(0))) & (instant < F.timestamp_seconds(F.lit(_END_S)))
    not_a_time = F.when(instant.isNull(), EVENT_TIME_IS_NOT_A_TIME)
    wrong_instant = _wrong_instant(instant, in_range, future_tolerance_s)
    return judged.select(
        F.when(F.col("_broken").isNull() & in_range, instant).alias("event_time"),
        *(_field(name).alias(name) for name in ("event_id", "visit_id", "user_id", "page", "browser")),
        F.coalesce("_broken", "_no_instant", not_a_time, wrong_instant, "_wrong_type").alias("problem"),
        *_COORDINATES,
        F.col("timestamp").alias("record_time"),
        *(name for name in _BYTES if name in records.columns),
    )


def _behind_barrier(frame: DataFrame, structs: Column) -> DataFrame:
    """The frame with the fields of the one struct, evaluated once; nulls where there is none.

    Spark would copy a plain column's expression into every filter and column that uses it: `problem is null` alone would
    parse each record many times over. It cannot do that to what comes out of a generator.
    """
    return frame.select("*", F.inline_outer(structs))


def _text() -> Column:
    return F.col("value").cast("string")


def _text_but_last_byte() -> Column:
    return F.substring("value", F.lit(1), F.octet_length("value") - 1).cast("string")


def _is_odd() -> Column:
    return F.coalesce(F.col("_plain_time"), F.lit("")) == ""


def _is_not_utf8() -> Column:
    """Asked once, where it is compiled: interpreted, Spark looks the function up anew for each record."""
    return F.col("_plain_time").isNull()


def _field(name: str) -> Column:
    """Outside of the barriers: Spark leaves out what nobody asks for."""
    return F.when(_is_odd(), F.col(f"_{name}")).otherwise(plain_field(_text(), *_spellings(name)))


def _spellings(name: str) -> list[str]:
    return [name, *([_SPELLINGS[name]] if name in _SPELLINGS else [])]


def _odd(zone: str) -> Column:
    """What an odd record says and what is wrong with it, as an array of one struct.

    Each step is a lambda over an array of one, which gives names to what was computed before. Lambdas are interpreted, so
    that what few records need does not make large what is compiled for all: methods of more than 8,000 bytes never are.
    """
    parsed = F.array(F.from_json(_text(), _SCHEMA, _STRICT))
    tested = F.transform(parsed, lambda event: _tested(event, zone))
    return F.transform(tested, _judged)


def _tested(event: Column, zone: str) -> Column:
    """The fields, their spellings made one, the time, and cheap tests that raise suspicion."""
    fields = {name: F.coalesce(*(event[spelling] for spelling in _spellings(name))) for name in (*TEXTS, *IDS)}
    time = F.coalesce(*(event[spelling] for spelling in _spellings("event_time")))
    is_corrupt = event["_corrupt"].isNotNull()
    columns = {
        **{f"_{name}": column for name, column in fields.items()},
        "time": time,
        "_instant": _instant(time, zone),
        "is_corrupt": is_corrupt,
        "is_doubtful": is_corrupt | time.isNull() | _is_not_utf8() | F.contains(_text(), F.lit("\\u")),
        # A brace before the last byte: the object may end before the record does. (Bytes: counting characters is slow.)
        "has_inner_brace": F.contains(_text_but_last_byte(), F.lit("}")) | ~F.endswith(_text(), F.lit("}")),
    }
    return F.struct(*(column.alias(name) for name, column in columns.items()))


def _judged(tested: Column) -> Column:
    fields = (tested[f"_{name}"].alias(f"_{name}") for name in (*TEXTS, *IDS))
    problems = {"_broken": _broken(tested), "_no_instant": _no_instant(tested), "_wrong_type": _wrong_type(tested)}
    return F.struct(*fields, tested["_instant"].alias("_instant"), *(column.alias(name) for name, column in problems.items()))


def _instant(text: Column, zone: str) -> Column:
    """The zone is written behind the time: cast alone would take the session's."""
    whole = F.when(text.rlike(_LOCAL_TIME), F.concat(text, F.lit(zone))).when(text.rlike(_ZONED_TIME), text)
    # Spark reads a zone only behind seconds, and Java leaves out seconds that are 0.
    return F.regexp_replace(whole, "^(.{16})(?!:)", "$1:00").try_cast("timestamp")


def _broken(tested: Column) -> Column:
    """Why the record as a whole cannot be trusted."""
    text, keys = _text(), F.json_object_keys(_text())
    said = F.concat_ws("", *(tested[f"_{name}"] for name in (*TEXTS, *IDS)), tested["time"])
    doubts = (
        F.when(text.isNull(), NULL_VALUE)
        .when(text.rlike(r"^[ \t\r\n]*\z"), EMPTY_RECORD)
        .when(_is_not_utf8(), NOT_UTF8)
        .when(F.contains(said, F.lit("\0")), NUL_CHARACTER)
        .when(tested["is_corrupt"], _unreadable(text))
        .when(F.contains(said, F.lit("?")) & _has_lone_surrogate(text), LONE_SURROGATE)
    )
    return F.coalesce(
        F.when(tested["is_doubtful"], doubts),
        F.when(tested["has_inner_brace"] & _goes_on(text, keys), MORE_THAN_ONE_OBJECT),
        F.when(F.size(F.array_distinct(keys)) < F.size(keys), DUPLICATE_KEY),
    )


def _unreadable(text: Column) -> Column:
    # Wrapped, because json_array_length is the one function that tells any JSON value from none.
    is_json = F.coalesce(F.json_array_length(F.concat(F.lit("["), text, F.lit("]"))) == 1, F.lit(False))
    return (
        F.when(F.contains(text, F.lit("\0")), NUL_CHARACTER)
        .when(is_json & ~text.rlike(r"^[ \t\r\n]*\{"), NOT_AN_OBJECT)
        .otherwise(NOT_JSON)
    )


def _has_lone_surrogate(text: Column) -> Column:
    unescaped = F.regexp_replace(text, r"\\\\", "")  # an escaped backslash begins nothing
    pairs_out = F.regexp_replace(unescaped, r"(?i)\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}", "")
    return pairs_out.rlike(r"(?i)\\ud[89a-f]")


def _goes_on(text: Column, keys: Column) -> Column:
    """Is there more after the object? A key put in before the last brace is one more key, unless that brace is another's."""
    closed = F.concat(_text_but_last_byte(), F.lit(',"":0}'))
    stretched = F.when(F.endswith(text, F.lit("}")), closed).otherwise(F.regexp_replace(text, r"\}[ \t\r\n]*\z", ',"":0}'))
    # Null for `{}`, where the comma is one too many.
    return F.coalesce(F.size(F.json_object_keys(stretched)) == F.size(keys), F.lit(False))


def _no_instant(tested: Column) -> Column:
    text = tested["time"]
    reason = (
        F.when(text.isNull(), NO_EVENT_TIME)
        .when(text.rlike(_NUMBER), EVENT_TIME_IS_A_NUMBER)
        .when(text.rlike(_WIDE_YEAR), EVENT_TIME_OUT_OF_RANGE)
        .otherwise(EVENT_TIME_IS_NOT_A_TIME)
    )
    return F.when(tested["_instant"].isNull(), reason)


def _wrong_instant(instant: Column, in_range: Column, future_tolerance_s: float | None) -> Column:
    outside = F.when(~in_range, EVENT_TIME_OUT_OF_RANGE)
    if future_tolerance_s is None:
        return outside
    # As doubles, exact for centuries: a long could overflow, which throws.
    ahead_us = F.unix_micros(instant).cast("double") - F.unix_micros("timestamp").cast("double")
    return outside.when(ahead_us > future_tolerance_s * 1e6, EVENT_TIME_IN_THE_FUTURE)


def _wrong_type(tested: Column) -> Column:
    """The first field that is neither a string nor what else it may be. In a schema of strings, Spark writes any value out."""
    return F.coalesce(
        *(F.when(_looks_typed(tested[f"_{name}"], name) & ~_is_string(name), WRONG_TYPE + name) for name in (*IDS, *TEXTS))
    )


def _looks_typed(text: Column, name: str) -> Column:
    """Could Spark have made this text of something else? It writes 1e999 as "Infinity", quotes and all."""
    return text.rlike(_LIKE_A_VALUE if name in IDS else _LIKE_A_VALUE_OR_INTEGER)


def _is_string(name: str) -> Column:
    *others, last = (F.schema_of_variant(F.from_json(_text(), f"{one} VARIANT")[one]) for one in _spellings(name))
    return F.coalesce(*(F.nullif(type_, F.lit("VOID")) for type_ in others), last) == "STRING"
