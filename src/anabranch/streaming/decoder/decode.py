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
from anabranch.streaming.decoder.match import line_in_any_order, line_in_order, matched_instant, matched_texts, matched_values
from anabranch.streaming.decoder.parse import parsed, parsed_columns, parsed_value
from anabranch.streaming.decoder.reading import ReadField, fields_of
from anabranch.streaming.decoder.sql import literal
from anabranch.streaming.decoder.times import is_event_time

# The problem of a record that the settings leave out.
SKIPPED: Final = "skipped"

_COORDINATES: Final = ("topic", "partition", "offset")
_BYTES: Final = ("key", "value", "headers")
_INSTANT: Final = "coalesce(_instant, _parsed_instant)"


def decode(
    records: DataFrame, topic: Topic, *, zone: str, future_tolerance_s: float | None, skip: Sequence[str] = ()
) -> DataFrame:
    """The records of a topic, typed. A time without a zone is in `zone`; a tolerance of None lets any future pass.

    Records to skip, TOPIC:PARTITION:OFFSET, have a problem of their own, whatever else is wrong with them.

    Most records match (match.py), which has an instant for them; only the others are parsed (parse.py).
    """
    fields = fields_of(topic, zone)
    as_they_came = [name for name in _BYTES if name in records.columns]
    ordered = _barrier(_ordered=line_in_order(fields, topic.key_order or topic.schema.names))
    matched = records.selectExpr("timestamp", *_COORDINATES, *as_they_came, ordered)
    matched = matched.selectExpr("*", _barrier(_line=line_in_any_order("_ordered", fields))).drop("_ordered")
    timed = matched.selectExpr("*", _barrier(_instant=matched_instant("_line", zone)))
    # from_json and lambdas, here, stand in a projection: a generator that has one is interpreted as a whole.
    read = f"CASE WHEN _instant IS NULL THEN {parsed(fields, event_time=topic.event_time, zone=zone)}[0] END AS _read"
    columns = {name: f"_read.{name}" for name in parsed_columns(fields)}
    judged = timed.selectExpr("*", read).selectExpr("*", _barrier(**columns)).drop("_read")
    problem = f"coalesce({_skipped(skip)}_broken, _no_instant, {wrong_instant(topic.event_time, future_tolerance_s)}, _fault)"
    # In a projection: Spark leaves it out where no field is read, and does not copy it where several are.
    found = judged.selectExpr("*", f"CASE WHEN _instant IS NOT NULL THEN {matched_texts('_line')} END AS _texts")
    values = matched_values("_texts", fields)
    return found.selectExpr(
        *(f"{_value(one, values[one.field.name])} AS {quoted(one.field.name)}" for one in fields),
        f"{problem} AS _problem",
        *(f"{coordinate} AS _{coordinate}" for coordinate in _COORDINATES),
        "timestamp AS _record_time",
        *(f"{one} AS _{one}" for one in as_they_came),
    )


def _value(one: ReadField, matched: str) -> str:
    """Outside of the barriers: Spark leaves out what nobody reads."""
    if one.is_event_time:
        return f"CASE WHEN _broken IS NULL AND {is_event_time(_INSTANT)} THEN {_INSTANT} END"
    return f"coalesce({matched}, {parsed_value(one)})"


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


def wrong_instant(event_time: str, future_tolerance_s: float | None) -> str:
    outside = f"WHEN NOT {is_event_time(_INSTANT)} THEN {literal(f'{event_time} out of range')}"
    if future_tolerance_s is None:
        return f"CASE {outside} END"
    # As doubles, exact for centuries: a long could overflow, which throws.
    ahead_us = f"cast(unix_micros({_INSTANT}) AS DOUBLE) - cast(unix_micros(timestamp) AS DOUBLE)"
    # It would push the watermark over everything behind it.
    return f"CASE {outside} WHEN {ahead_us} > {future_tolerance_s * 1e6:.0f}D THEN {literal(f'{event_time} in the future')} END"
