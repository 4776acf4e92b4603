"""Reads a record by a regular expression, made from the schema, that proves the record good and finds its fields.

It never says that a record is bad, only that it is written as records usually are: one object, its keys in any order and some
others, no key twice, numbers that fit their type as they stand, times with seconds, blanks only behind colons and commas. So
nothing is wrong with such a record, unless its time is out of range. Every other record is left to the parser (parse.py), and
both must say the same (`tests/streaming/test_decoder.py` decodes each case both ways).

What is found is a line: the fields' texts, with a mark before each that no text has, the event time first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from anabranch.pipeline.schema import Array, Decimal, Map, Scalar, Struct, Type, quoted
from anabranch.streaming.decoder.pattern import Pattern, any_order, in_order
from anabranch.streaming.decoder.reading import Path, ReadField
from anabranch.streaming.decoder.sql import TEXT, literal
from anabranch.streaming.decoder.times import usual_instant
from anabranch.streaming.decoder.values import converted, has_times, read_type

_MARK: Final = "\x01"


def line_in_order(fields: Sequence[ReadField], key_order: Sequence[str]) -> str:
    """The line of a record whose keys come in this order; else the record as it was. Null: it is no text of an object."""
    ordered = sorted(fields, key=lambda one: key_order.index(one.field.name))
    line = _replaced(TEXT, in_order(ordered), fields)
    return f"CASE WHEN is_valid_utf8({TEXT}) AND startswith({TEXT}, '{{') THEN {line} END"


def line_in_any_order(line: str, fields: Sequence[ReadField]) -> str:
    """The same, of a record whose keys come in another order, or with others between."""
    return f"CASE WHEN {_is_line(line)} THEN {line} ELSE {_replaced(line, any_order(fields), fields)} END"


def _replaced(text: str, pattern: Pattern, fields: Sequence[ReadField]) -> str:
    """In one match: Java writes all groups side by side."""
    texts = "".join(_MARK + pattern.texts[path] for path in _paths(fields))
    return f"regexp_replace({text}, {literal(pattern.expression)}, {literal(texts)})"


def _paths(fields: Sequence[ReadField]) -> list[Path]:
    """In the order in which they are in a line."""
    return [path for one in sorted(fields, key=lambda one: one.number) for path in one.paths]


def _is_line(line: str) -> str:
    return f"startswith({line}, {literal(_MARK)})"


def matched_instant(line: str, zone: str) -> str:
    """The event time, which stands first, if the line is of a record that matched; else null."""
    time = f"substring(substring_index({line}, {literal(_MARK)}, 2), 2)"
    return f"CASE WHEN {_is_line(line)} THEN {usual_instant(time, zone)} END"


def matched_texts(line: str) -> str:
    return f"split({line}, {literal(_MARK)})"


def matched_values(texts: str, fields: Sequence[ReadField]) -> dict[str, str]:
    """The fields of a record that matched, by name; null: the record has none."""
    placed = {path: f"get({texts}, {number})" for number, path in enumerate(_paths(fields), start=1)}
    return {one.field.name: _value(placed, (one.field.name,), one.field.type, one.zone) for one in fields}


def _value(placed: Mapping[Path, str], path: Path, type_: Type, zone: str) -> str:
    text = placed[path]
    match type_:
        case Scalar("STRING"):
            # There is a quote in front, so that an empty string is not taken for none; before an integer there is none.
            unescaped = f"""get_json_object(concat('[', {text}, '"]'), '$[0]')"""
            value = f"CASE WHEN contains({text}, {literal(chr(92))}) THEN {unescaped} ELSE ltrim('\"', {text}) END"
        case Scalar("TIMESTAMP"):
            return usual_instant(text, zone)
        case Struct(inner):
            parts = (f"{_value(placed, (*path, one.name), one.type, zone)} AS {quoted(one.name)}" for one in inner)
            value = f"struct({', '.join(parts)})"
        case Array() | Map() if has_times(type_):
            value = converted(f"from_json({text}, {literal(read_type(type_))})", type_, zone)
        case Array() | Map():
            value = f"from_json({text}, {literal(type_.describe())})"
        case Decimal() | Scalar("DOUBLE"):
            # Of no text either would be null as well, but by way of an exception.
            value = f"try_cast({text} AS {type_.describe()})"
        case _:
            return f"try_cast({text} AS {type_.describe()})"
    return f"CASE WHEN {text} <> '' THEN {value} END"
