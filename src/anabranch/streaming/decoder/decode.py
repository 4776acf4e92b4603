"""The one decoder: what a Kafka record says by its topic's schema, or which problem it has. Stream and batch alike.

Expressions of SQL: no UDF, no action, no clock, no session. It does not know which pipeline asks, and what it says
of a record depends on nothing but the record, its topic and the three parameters. It never throws, whatever the bytes.

What the result holds, in this order:

    the schema's fields                       typed, each may be null; to be trusted only where _problem is null, but
    the event time among them                 always null where it cannot be used
    _problem                                  null: a good record
    _topic, _partition, _offset, _record_time where the record is, and Kafka's own time of it
    _key, _value, _headers                    as they came, where the source has them

Decided here and beside (docs/internals/decoder.md has all of it):
* An alias is read where the field's own key is missing or null. Keys are case-sensitive, others are ignored.
* Texts that take integers take those of any length: their digits are the text (-0 is 0). 1.0 and 1e3 are no integers.
* A time is `2025-09-04T07:00[:00[.1 to 9 digits]]`, T or a space, then nothing, `Z`, `+02`, `+0200` or `+02:00`; what is
  finer than a microsecond is cut off. Region names (`[Europe/Paris]`) are no part of ISO-8601 and no time.
* A local time that a zone skips moves on by the gap, one that it has twice is the first of the two, as in java.time.
* A record whose JSON cannot be trusted as a whole has no event time; one with another problem keeps a time that is in range.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import DataFrame

from anabranch.pipeline.schema import quoted
from anabranch.pipeline.topic import Topic
from anabranch.streaming.decoder.flat import flat_texts
from anabranch.streaming.decoder.problems import WRONG, problems
from anabranch.streaming.decoder.reading import IS_FLAT, ReadField, fields_of
from anabranch.streaming.decoder.shape import shape_of_record
from anabranch.streaming.decoder.sql import STRICT, TEXT, WRAPPED, literal, regex
from anabranch.streaming.decoder.times import is_event_time, usual_instant

# The problem of a record that the settings leave out.
SKIPPED: Final = "skipped"

_COORDINATES: Final = ("topic", "partition", "offset")
_BYTES: Final = ("key", "value", "headers")
_FOUND: Final = "coalesce(_flat[0] = '', false)"
_INSTANT: Final = "coalesce(_instant, _other_instant)"


def decode(
    records: DataFrame, topic: Topic, *, zone: str, future_tolerance_s: float | None, skip: Sequence[str] = ()
) -> DataFrame:
    """The records of a topic, typed. A time without a zone is in `zone`; a tolerance of None lets any future pass.

    Records to skip, TOPIC:PARTITION:OFFSET, have a problem of their own, whatever else is wrong with them.

    Most records are proven to be good (`_is_good`); only of the others the problem is looked for (problems.py).
    """
    fields = fields_of(topic, zone)
    as_they_came = [name for name in _BYTES if name in records.columns]
    found = records.selectExpr("timestamp", *_COORDINATES, *as_they_came, _barrier(_flat=_flat(fields)))
    # from_json, here, and lambdas, in _wrong, stand in projections: a generator that has one is interpreted as a whole.
    read = found.selectExpr("*", f"{_parsed(fields)} AS _read")
    # Out of the struct at once: Spark loses columns where it looks into one through several generators.
    parsed = {f"_parsed{one.number}": one.parsed for one in fields}
    parsed["_is_whole"] = "_read._corrupt IS NULL AND _read.end = 0"
    apart = read.selectExpr("*", _barrier(_is_flat=_FOUND, _is_proven=_proof(fields), **parsed)).drop("_read")
    time = next(field.read for field in fields if field.is_event_time)
    worked_for = {one.column: one.value for one in fields if one.is_converted}
    typed = apart.selectExpr("*", _barrier(_time=time, **worked_for))
    timed = typed.selectExpr("*", _barrier(_instant=usual_instant("_time", zone, is_usual=IS_FLAT)))
    wrong = problems(fields, time="_time", event_time=topic.event_time, zone=zone)
    doubted = timed.selectExpr("*", f"CASE WHEN NOT ({_is_good(fields)}) THEN {wrong}[0] END AS _wrong")
    judged = doubted.selectExpr("*", _barrier(**{name: f"_wrong.{name}" for name in WRONG})).drop("_wrong")
    problem = f"coalesce({_skipped(skip)}_broken, _no_instant, {wrong_instant(topic.event_time, future_tolerance_s)}, _fault)"
    event_time = f"CASE WHEN _broken IS NULL AND {is_event_time(_INSTANT)} THEN {_INSTANT} END"
    return judged.selectExpr(
        *(f"{event_time if one.is_event_time else one.column} AS {quoted(one.field.name)}" for one in fields),
        f"{problem} AS _problem",
        *(f"{coordinate} AS _{coordinate}" for coordinate in _COORDINATES),
        "timestamp AS _record_time",
        *(f"{one} AS _{one}" for one in as_they_came),
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


def _barrier(**columns: str) -> str:
    """Columns that are evaluated once.

    Spark would copy a plain column's expression into every filter and column that uses it: `_problem is null` alone would
    parse each record many times over. It cannot do that to what comes out of a generator.
    """
    return f"inline(array(struct({', '.join(f'{value} AS {name}' for name, value in columns.items())})))"


def _flat(fields: Sequence[ReadField]) -> str:
    """The texts of a flat record's fields; else no array, or one whose first is not empty."""
    if not all(field.can_be_flat for field in fields):
        return "cast(NULL AS ARRAY<STRING>)"
    return f"CASE WHEN is_valid_utf8({TEXT}) THEN {flat_texts([field.flat for field in fields])} END"


def _parsed(fields: Sequence[ReadField]) -> str:
    types = ", ".join(type_ for field in fields for type_ in field.read_types)
    schema = f"r STRUCT<{types}>, end INT, _corrupt STRING"
    return f"CASE WHEN NOT {_FOUND} THEN from_json({WRAPPED}, {literal(schema)}, {STRICT}) END"


def _proof(fields: Sequence[ReadField]) -> str:
    """True: one or more objects, no key twice, of the right types, no NUL, no half of a character. Null: no UTF-8."""
    shapes = [(key, field.shape) for field in fields for key in field.keys]
    types = f"schema_of_variant(try_parse_json(concat('[', {TEXT}, ']')))"
    nul = regex(r"\u0000")
    return f"""CASE WHEN {_FOUND} THEN true WHEN is_valid_utf8({TEXT})
        THEN coalesce(NOT contains({TEXT}, {nul}) AND rlike({types}, {literal(shape_of_record(shapes))}), false) END"""


def _is_good(fields: Sequence[ReadField]) -> str:
    """Whether nothing is wrong with a record, but perhaps its time's distance from now."""
    is_read = f"({IS_FLAT} OR coalesce(_is_whole, false))"
    required = [f"{one.column} IS NOT NULL" for one in fields if one.field.is_required and not one.is_event_time]
    certain = [f"NOT {one.doubt}" for one in fields if one.doubt]
    return " AND ".join(["coalesce(_is_proven, false)", is_read, "_instant IS NOT NULL", *required, *certain])


def wrong_instant(event_time: str, future_tolerance_s: float | None) -> str:
    outside = f"WHEN NOT {is_event_time(_INSTANT)} THEN {literal(f'{event_time} out of range')}"
    if future_tolerance_s is None:
        return f"CASE {outside} END"
    # As doubles, exact for centuries: a long could overflow, which throws.
    ahead_us = f"cast(unix_micros({_INSTANT}) AS DOUBLE) - cast(unix_micros(timestamp) AS DOUBLE)"
    # It would push the watermark over everything behind it.
    return f"CASE {outside} WHEN {ahead_us} > {future_tolerance_s * 1e6:.0f}D THEN {literal(f'{event_time} in the future')} END"
