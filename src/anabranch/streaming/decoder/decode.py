"""The one decoder: the visit event in a Kafka record, or which problem the record has. Stream and batch alike.

Expressions of SQL: no UDF, no action, no clock, no session. It does not know which pipeline asks, and what it says
of a record depends on nothing but the record and the three parameters. It never throws, whatever the bytes.

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

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from pyspark.sql import DataFrame

from anabranch.streaming.decoder.fast_path import fast_field, fast_instant, fast_time
from anabranch.streaming.decoder.full_parse import TEXT, full_parse, spellings
from anabranch.streaming.decoder.sql import literal

# The problem of a record that the settings leave out.
SKIPPED: Final = "skipped"

_FIELDS: Final = ("event_id", "visit_id", "user_id", "page", "browser")
_COORDINATES: Final = ("topic", "partition", "offset")
_BYTES: Final = ("key", "value", "headers")

_NEEDS_FULL_PARSE: Final = "coalesce(_fast_time, '') = ''"
_INSTANT: Final = "coalesce(_fast_instant, _instant)"
# 1970 to 9998, in UTC: Python and sinks stop at 9999.
_END_S: Final = int(datetime(9999, 1, 1, tzinfo=UTC).timestamp())
_IN_RANGE: Final = f"({_INSTANT} >= timestamp_seconds(0) AND {_INSTANT} < timestamp_seconds({_END_S}))"


def decode(records: DataFrame, *, zone: str, future_tolerance_s: float | None, skip: Sequence[str] = ()) -> DataFrame:
    """The events of Kafka records. A time without a zone is in `zone`; a tolerance of None lets any future pass.

    Records to skip, TOPIC:PARTITION:OFFSET, have a problem of their own, whatever else is wrong with them.

    Most records take the fast path (fast_path.py): nothing but their time can be wrong. The others are parsed and checked in
    full (full_parse.py).
    """
    as_they_came = [name for name in _BYTES if name in records.columns]
    kept = ("timestamp", *_COORDINATES, *as_they_came)
    matched = _behind_barrier(records, f"array(struct({fast_time(TEXT)} AS _fast_time))", *kept)
    fast = f"CASE WHEN NOT {_NEEDS_FULL_PARSE} THEN {fast_instant('_fast_time', zone)} END"
    timed = _behind_barrier(matched, f"array(struct({fast} AS _fast_instant))")
    judged = _behind_barrier(timed, f"CASE WHEN {_NEEDS_FULL_PARSE} THEN {full_parse(zone)} END")
    not_a_time = f"CASE WHEN {_INSTANT} IS NULL THEN 'event_time is not a time' END"
    problem = f"coalesce({_skipped(skip)}_broken, _no_instant, {not_a_time}, {_wrong_instant(future_tolerance_s)}, _wrong_type)"
    return judged.selectExpr(
        f"CASE WHEN _broken IS NULL AND {_IN_RANGE} THEN {_INSTANT} END AS event_time",
        *(f"{_field(name)} AS {name}" for name in _FIELDS),
        f"{problem} AS problem",
        *_COORDINATES,
        "timestamp AS record_time",
        *as_they_came,
    )


def _skipped(records: Sequence[str]) -> str:
    """Nothing where nothing is skipped: the plan is as it was."""
    if not records:
        return ""
    coordinates = ", ".join(f"({literal(topic)}, {partition}, {offset}L)" for topic, partition, offset in map(_place, records))
    return f"CASE WHEN (topic, partition, offset) IN ({coordinates}) THEN '{SKIPPED}' END, "


def _place(record: str) -> tuple[str, int, int]:
    topic, partition, offset = record.rsplit(":", 2)
    return topic, int(partition), int(offset)


def _behind_barrier(frame: DataFrame, structs: str, *kept: str) -> DataFrame:
    """The frame, or what is kept of it, with the fields of the one struct, evaluated once; nulls where there is none.

    Spark would copy a plain column's expression into every filter and column that uses it: `problem is null` alone would
    parse each record many times over. It cannot do that to what comes out of a generator.
    """
    return frame.selectExpr(*(kept or "*"), f"inline_outer({structs})")


def _field(name: str) -> str:
    """Outside of the barriers: Spark prunes the fields that are not used."""
    return f"CASE WHEN {_NEEDS_FULL_PARSE} THEN _{name} ELSE {fast_field(TEXT, *spellings(name))} END"


def _wrong_instant(future_tolerance_s: float | None) -> str:
    outside = f"WHEN NOT {_IN_RANGE} THEN 'event_time out of range'"
    if future_tolerance_s is None:
        return f"CASE {outside} END"
    # As doubles, exact for centuries: a long could overflow, which throws.
    ahead_us = f"cast(unix_micros({_INSTANT}) AS DOUBLE) - cast(unix_micros(timestamp) AS DOUBLE)"
    # It would push the watermark over everything behind it.
    return f"CASE {outside} WHEN {ahead_us} > {future_tolerance_s * 1e6:.0f}D THEN 'event_time in the future' END"
