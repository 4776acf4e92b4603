"""Reads a record that did not match (match.py) by from_json, and says what is wrong with it: SQL for an array of one struct.

Each step is a lambda over an array of one, which gives names to what was computed before. Lambdas are interpreted, so that what
few records need does not make large what is compiled for all: methods of more than 8,000 bytes never are. The fields are rows
of a table, over which one lambda goes: so there are about as many expressions for a wide schema as for a narrow one.
"""

from __future__ import annotations

from typing import Final

from anabranch.pipeline.schema import Array, Map, Struct, quoted
from anabranch.streaming.decoder.reading import ReadField
from anabranch.streaming.decoder.shape import TEXT_OR_INTEGER, shape, shape_of_value
from anabranch.streaming.decoder.sql import STRICT, TEXT, first_of, literal, regex
from anabranch.streaming.decoder.times import WIDE_YEAR, instant
from anabranch.streaming.decoder.values import converted, fault, may_overflow, read_type

# The names in the struct: why the record as a whole cannot be trusted, its time, what is wrong with that, and with its fields.
_VERDICT: Final = ("_broken", "_parsed_instant", "_no_instant", "_fault")
# `end` is there if the record's text was all of `r`.
_WRAPPED: Final = f"""concat('{{"r":', {TEXT}, ',"end":0}}')"""

_NUMBER: Final = regex(r'^(-?[0-9.]+(E-?[0-9]+)?|"-?Infinity")\z')  # as Spark writes a JSON number into a string
_INTEGER: Final = regex(r"^-?[0-9]+\z")
_BLANK: Final = regex(r"^[ \t\r\n]*\z")
_BEGINS_OBJECT: Final = regex(r"^[ \t\r\n]*\{")
_BACKSLASHES: Final = regex(r"\\\\")
_TWO_HALVES: Final = regex(r"(?i)\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}")
_HALF: Final = regex(r"(?i)\\ud[89a-f]")
_ESCAPED_NUL: Final = regex(r"(?<!\\)(?:\\\\)*+\\u0000")


def parsed(fields: list[ReadField], *, event_time: str, zone: str) -> str:
    """The record with these fields; all problems of the record as a whole come first."""
    keys = [key for one in fields for key in one.keys]
    types = ", ".join(f"{quoted(key)}: {read_type(one.field.type)}" for one in fields for key in one.keys)
    variants = ", ".join(f"{quoted(key)} VARIANT" for key in keys)
    read = f"""struct(from_json({TEXT}, 'MAP<STRING, STRING>', {STRICT}) AS texts,
        from_json({TEXT}, {literal(f"{variants}, _corrupt STRING")}, {STRICT}) AS variants,
        from_json({_WRAPPED}, {literal(f"r STRUCT<{types}>")}, {STRICT}).r AS typed)"""
    names = f"array({', '.join(map(literal, keys))})"
    of_variants = ", ".join(f"schema_of_variant(read.variants.{quoted(key)})" for key in keys)
    time = _typed(next(one for one in fields if one.is_event_time))
    # A key twice, or half a character, anywhere in what is read. Spark has lost its place by then: the types say nothing.
    record = f"""struct(read.texts, read.variants._corrupt IS NOT NULL AS is_unreadable, {names} AS names, {time} AS time,
        {instant(time, zone)} AS instant, struct({", ".join(map(_value, fields))}) AS values,
        map_from_arrays({names}, array({of_variants})) AS types, array({", ".join(map(_is_wrong, fields))}) AS wrong)"""
    found = f"""struct(record.texts, record.is_unreadable, record.names, record.time, record.instant, record.values,
        {_found(fields)} AS fields)"""
    steps = f"transform(transform(array({read}), read -> {record}), record -> {found})"
    return f"transform({steps}, found -> {_judged(fields, event_time)})"


def parsed_columns(fields: list[ReadField]) -> list[str]:
    """The names in the struct, the fields' among them."""
    return [*_VERDICT, *(parsed_value(one) for one in fields if not one.is_event_time)]


def parsed_value(one: ReadField) -> str:
    return f"_parsed{one.number}"


def _typed(one: ReadField) -> str:
    """As from_json read it: a time is text."""
    return first_of(*(f"read.typed.{quoted(key)}" for key in one.keys))


def _value(one: ReadField) -> str:
    return f"{converted(_typed(one), one.field.type, one.zone)} AS {parsed_value(one)}"


def _is_wrong(one: ReadField) -> str:
    """Whether a value of the right shape is wrong all the same, by its value alone."""
    if one.is_event_time:
        return "false"
    doubt = fault(_typed(one), one.field.type, one.zone) or "false"
    if not may_overflow(one.field.type):
        return doubt
    *others, last = (
        f"from_json({TEXT}, {literal(f'{quoted(key)} {read_type(one.field.type)}, _corrupt STRING')}, {STRICT})._corrupt"
        for key in one.keys
    )
    cases = "".join(
        f"WHEN try_element_at(read.texts, {literal(key)}) IS NOT NULL THEN {rejected} "
        for key, rejected in zip(one.keys, others, strict=False)
    )
    rejected = f"CASE {cases}ELSE {last} END" if cases else last
    return f"({rejected} IS NOT NULL OR {doubt})"


def _found(fields: list[ReadField]) -> str:
    """Each field's text, and its fault."""
    key = "try_element_at(filter(field.keys, key -> try_element_at(record.texts, key) IS NOT NULL), 1)"
    looked_up = f"transform(array({', '.join(map(_row, fields))}), (field, number) -> struct(field, number, {key} AS key))"
    return f"""transform(transform({looked_up},
        one -> struct(one.field, try_element_at(record.texts, one.key) AS text, try_element_at(record.types, one.key) AS type,
            record.wrong[one.number] AS is_wrong)),
        one -> struct(one.field.is_nested AS is_nested, one.text AS text, {_FAULT} AS fault))"""


def _row(one: ReadField) -> str:
    is_nested = isinstance(one.field.type, Array | Map | Struct)
    keys = ", ".join(map(literal, one.keys))
    columns = {
        "name": literal(one.field.name),
        "keys": f"array({keys})",
        "shape": literal(shape_of_value(f"{TEXT_OR_INTEGER}|VOID" if one.takes_integers else shape(one.field.type))),
        "is_nested": str(is_nested).lower(),
        "is_required": str(one.field.is_required).lower(),
        "takes_integers": str(one.takes_integers).lower(),
    }
    return f"struct({', '.join(f'{value} AS {name}' for name, value in columns.items())})"


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
def _has_half(text: str) -> str:
    return f"rlike(regexp_replace(regexp_replace({text}, {_BACKSLASHES}, ''), {_TWO_HALVES}, ''), {_HALF})"


# Spark writes it as "?" into a string, and as it was into a text of JSON.
_TEXT_OF_KEY: Final = "try_element_at(found.texts, name)"
_IS_HALF: Final = f"{_has_half(_TEXT_OF_KEY)} OR contains({_TEXT_OF_KEY}, '?') AND {_has_half(TEXT)}"
# Inside of the one no key can follow, inside of the other no bracket: what ends both in time has nothing behind it.
_IS_LAST: Final = f"from_json({_WRAPPED}, 'end INT', {STRICT}).end = 0"
_IS_ALONE: Final = f"coalesce({_IS_LAST} AND json_array_length(concat('[', {TEXT}, ']')) = 1, false)"
_KEYS: Final = f"json_object_keys({TEXT})"

# Why the record as a whole cannot be trusted.
_BROKEN: Final = f"""CASE
    WHEN {TEXT} IS NULL THEN 'null value' -- a tombstone; from_json makes a row of nulls of it
    WHEN rlike({TEXT}, {_BLANK}) THEN 'empty record' -- the same row of nulls
    WHEN NOT is_valid_utf8({TEXT}) THEN 'not UTF-8' -- from_json would put U+FFFD there, and two visits could become one
    -- Raw or escaped, in a field that is read: it cuts strings short in other systems.
    WHEN exists(found.fields, one -> contains(one.text, chr(0)) OR one.is_nested AND rlike(one.text, {_ESCAPED_NUL}))
        THEN 'NUL character'
    WHEN found.texts IS NULL THEN {_UNREADABLE}
    -- Half a character, as an escape in a field that is read: Spark would make it "?".
    WHEN found.is_unreadable AND exists(found.names, name -> {_IS_HALF}) THEN 'lone surrogate'
    -- Or anything else after the object: from_json stops at its end.
    WHEN NOT {_IS_ALONE} THEN 'more than one object'
    -- Any, at the top level or in what is read: from_json silently takes the last.
    WHEN size(array_distinct({_KEYS})) < size({_KEYS}) OR found.is_unreadable THEN 'duplicate key'
END"""

_FAULT: Final = f"""CASE
    WHEN one.text IS NULL THEN CASE WHEN one.field.is_required THEN concat('no ', one.field.name) END
    WHEN NOT (coalesce(rlike(one.type, one.field.shape), false) AND NOT one.is_wrong
        OR one.field.takes_integers AND rlike(one.text, {_INTEGER})) THEN concat('wrong type: ', one.field.name)
END"""


def _judged(fields: list[ReadField], event_time: str) -> str:
    no_instant = f"""CASE WHEN found.instant IS NULL THEN CASE
        WHEN found.time IS NULL THEN {literal(f"no {event_time}")} -- missing or null
        -- Quoted or not: its unit can only be guessed.
        WHEN rlike(found.time, {_NUMBER}) THEN {literal(f"{event_time} is a number")}
        WHEN rlike(found.time, {WIDE_YEAR}) THEN {literal(f"{event_time} out of range")}
        ELSE {literal(f"{event_time} is not a time")}
    END END"""
    fault = "try_element_at(filter(transform(found.fields, one -> one.fault), fault -> fault IS NOT NULL), 1)"
    verdict = zip(_VERDICT, (_BROKEN, "found.instant", no_instant, fault), strict=True)
    values = (f"found.values.{parsed_value(one)}" for one in fields if not one.is_event_time)
    return f"struct({', '.join([*(f'{value} AS {name}' for name, value in verdict), *values])})"
