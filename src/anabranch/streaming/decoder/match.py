"""Reads a record by a regular expression, made from the schema, that proves the record good and finds its fields.

It never says that a record is bad, only that it is written as records usually are: one object, its keys in any order and some
others, no key twice, numbers that fit their type as they stand, times with seconds, blanks only behind colons and commas. So
nothing is wrong with such a record, unless its time is out of range. Every other record is left to the parser (parse.py), and
both must say the same (`tests/streaming/test_decoder.py` decodes each case both ways).

What is found is a line: the fields' texts, with a mark before each that no text has, the event time first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from anabranch.pipeline.schema import Array, Decimal, Map, Scalar, Struct
from anabranch.streaming.decoder.pattern import Pattern, any_order, can_match, in_order
from anabranch.streaming.decoder.reading import ReadField
from anabranch.streaming.decoder.sql import TEXT, literal
from anabranch.streaming.decoder.times import usual_instant

_MARK: Final = "\x01"


def line_in_order(fields: Sequence[ReadField], key_order: Sequence[str]) -> str:
    """The line of a record whose keys come in this order; else the record as it was. Null: it cannot match."""
    if not _can_match(fields):
        return "cast(NULL AS STRING)"
    ordered = sorted(fields, key=lambda one: key_order.index(one.field.name))
    return f"CASE WHEN is_valid_utf8({TEXT}) AND startswith({TEXT}, '{{') THEN {_replaced(TEXT, in_order(ordered))} END"


def line_in_any_order(line: str, fields: Sequence[ReadField]) -> str:
    """The same, of a record whose keys come in another order, or with others between."""
    if not _can_match(fields):
        return line
    return f"CASE WHEN {_is_line(line)} THEN {line} ELSE {_replaced(line, any_order(fields))} END"


def _can_match(fields: Sequence[ReadField]) -> bool:
    return all(can_match(one.field.type) for one in fields)


def _replaced(text: str, pattern: Pattern) -> str:
    """In one match: Java writes all groups side by side."""
    texts = "".join(_MARK + pattern.texts[number] for number in range(len(pattern.texts)))
    return f"regexp_replace({text}, {literal(pattern.expression)}, {literal(texts)})"


def _is_line(line: str) -> str:
    return f"startswith({line}, {literal(_MARK)})"


def matched_instant(line: str, zone: str) -> str:
    """The event time, which stands first, if the line is of a record that matched; else null."""
    time = f"substring(substring_index({line}, {literal(_MARK)}, 2), 2)"
    return f"CASE WHEN {_is_line(line)} THEN {usual_instant(time, zone)} END"


def matched_texts(line: str) -> str:
    return f"split({line}, {literal(_MARK)})"


def matched_value(texts: str, one: ReadField) -> str:
    """A field of a record that matched; null: the record has none."""
    text = f"get({texts}, {one.number + 1})"
    match one.field.type:
        case Scalar("STRING"):
            # There is a quote in front, so that an empty string is not taken for none; before an integer there is none.
            unescaped = f"""get_json_object(concat('[', {text}, '"]'), '$[0]')"""
            value = f"CASE WHEN contains({text}, {literal(chr(92))}) THEN {unescaped} ELSE ltrim('\"', {text}) END"
        case Scalar("TIMESTAMP"):
            return usual_instant(text, one.zone)
        case Array() | Map() | Struct() as type_:
            value = f"from_json({text}, {literal(type_.describe())})"
        case Decimal() | Scalar("DOUBLE") as type_:
            # Of no text either would be null as well, but by way of an exception.
            value = f"try_cast({text} AS {type_.describe()})"
        case type_:
            return f"try_cast({text} AS {type_.describe()})"
    return f"CASE WHEN {text} <> '' THEN {value} END"
