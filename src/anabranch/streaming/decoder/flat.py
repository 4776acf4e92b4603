"""The shortcut for flat records: one regular expression, made from the schema, that proves a record and finds its fields.

It saves two parsers, that of the VARIANT and from_json. It never says that a record is bad, only that it is
flat: one object of scalars, no key twice, strings that need no unescaping, numbers that fit their type as they are written,
times with seconds; a blank after a colon or a comma is allowed. Nothing but a date or a time can be wrong with such a record,
or missing. Every other record is read by from_json and proven by its VARIANT; both must say the same
(`tests/streaming/test_decoder.py` decodes each case both ways).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from anabranch.pipeline.schema import Decimal, Scalar, Type
from anabranch.streaming.decoder.sql import TEXT, literal
from anabranch.streaming.decoder.times import DAY, USUAL_TIME

# Each control character by itself: Java looks single characters up in a table, and asks a range one by one.
_CONTROL: Final = "".join(f"\\x{code:02x}" for code in range(0x20))
# Possessive (*+), here and below: nothing is ever tried twice, so no text can make it slow, nor deep.
_CHARS: Final = rf'[^"\\{_CONTROL}]*+'
# What is longer is left to the parser.
_INTEGER: Final = "(?:0|-?[1-9][0-9]{0,17}+)"
_FRACTION: Final = r"(?:\.[0-9]{1,18}+)?+"
# A value is found with a quote before it if it is a string; a word of its own says that it is null.
_VALUES: Final = {
    "STRING": rf'("{_CHARS})"',
    "INT": "(-?(?:0|[1-9][0-9]{0,8}+))",
    "BIGINT": "(-?(?:0|[1-9][0-9]{0,17}+))",
    "DOUBLE": rf"(-?(?:0|[1-9][0-9]{{0,17}}+){_FRACTION}(?:[eE][+-]?[0-9]{{1,2}}+)?+)",
    "BOOLEAN": "(true|false)",
    "TIMESTAMP": rf'("{USUAL_TIME})"',
    "DATE": rf'("{DAY})"',
}
_TEXT_OR_INTEGER: Final = rf'(?:("{_CHARS})"|({_INTEGER}))'
# Keys that are not read: not twice either (a quote stands only around strings, and only a key is followed by a colon). Jackson
# rejects long ones. Each looks through the rest of the text for itself: so there may be some, not thousands.
_OTHER_VALUE: Final = rf'(?:"{_CHARS}"|-?(?:0|[1-9][0-9]{{0,17}}+){_FRACTION}|true|false|null)'
_MOST_OTHERS: Final = 32
_MARK: Final = "\x01"


@dataclass(frozen=True)
class FlatField:
    keys: tuple[str, ...]
    type: Type
    takes_integers: bool


def is_flat(types: Sequence[Type]) -> bool:
    """Whether a schema of these types can be met by a flat record."""
    return all(isinstance(type_, Scalar | Decimal) for type_ in types)


def flat_texts(fields: Sequence[FlatField]) -> str:
    """The texts of the fields, in their order, behind a first that is empty; null where the record is not flat.

    In one match: Java writes all groups side by side, with marks between that no string has.
    """
    pattern, groups = _pattern(fields)
    texts = _MARK + _MARK.join(groups)
    found = f"regexp_replace({TEXT}, {literal(pattern)}, {literal(texts)})"
    # A record that does not match is as it was.
    return f"CASE WHEN startswith({TEXT}, '{{') THEN split({found}, {literal(_MARK)}) END"


def flat_value(number: int, type_: Type) -> str:
    """Of the field of this number, in a record that is flat: text without its quote, or as its type; null if there is none."""
    text = f"_flat[{number + 1}]"
    match type_:
        case Scalar("STRING" | "TIMESTAMP" | "DATE"):
            # There is no quote inside, and none before an integer.
            return f"CASE WHEN {text} <> '' THEN ltrim('\"', {text}) END"
        case _:
            return f"try_cast({text} AS {type_.describe()})"


def _pattern(fields: Sequence[FlatField]) -> tuple[str, list[str]]:
    """The expression, and for each field the groups of it that hold its text.

    A key is followed by an empty group of its own, which says that it was here: where it stands again, `\\number` matches.
    Both spellings of a field share one: who writes both is left to the parser.
    """
    pairs, seen, groups = [], [], []
    group = 0
    for field in fields:
        names = "|".join(re.escape(key) for key in field.keys)
        group += 1
        pairs.append(f'(?:{names})()": ?+(?:{_value(field)}|null)')
        seen.append(rf'(?:{names})"\{group}')
        count = 2 if field.takes_integers else 1
        groups.append("".join(f"${group + 1 + index}" for index in range(count)))
        group += count
    known = "|".join(re.escape(key) for field in fields for key in field.keys)
    other = rf'(?!(?:{known})")([^"\\{_CONTROL}]{{0,200}}+)(?![^\n]*"\{group + 1}":)": ?+{_OTHER_VALUE}'
    between = rf'(?:, ?+"(?!{"|".join(seen)})|(?=\}}))'
    return rf'^\{{"(?:(?:{"|".join(pairs)}|{other}){between}){{1,{len(fields) + _MOST_OTHERS}}}+\}}\z', groups


def _value(field: FlatField) -> str:
    match field.type:
        case Decimal(precision, scale):
            whole = f"(?:0|[1-9][0-9]{{0,{precision - scale - 1}}}+)" if precision > scale else "0"
            fraction = rf"(?:\.[0-9]{{1,{scale}}}+)?+" if scale else ""
            return f"(-?{whole}{fraction})"
        case Scalar(name):
            return _TEXT_OR_INTEGER if field.takes_integers else _VALUES[name]
    raise AssertionError(field)
