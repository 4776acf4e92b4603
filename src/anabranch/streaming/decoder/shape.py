"""What Spark says of a VARIANT that has a schema's types: one regular expression, made from the schema.

`schema_of_variant` writes a value's type as text: `OBJECT<amount: DECIMAL(3,1), id: BIGINT, tags: ARRAY<STRING>>`. Names stand
sorted, odd ones in backticks, so that the text can be read in one way only; elements of an array are merged into one type, or
into VARIANT where there is none. So the expression decides whether each value is of a kind that the schema takes. It knows no
values: ranges, times, and what is required are others' questions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from anabranch.pipeline.schema import Array, Decimal, Map, Scalar, Struct, Type

_NUMBER: Final = r"BIGINT|DECIMAL\([0-9,]++\)|DOUBLE"
_SCALARS: Final = {
    "STRING": "STRING",
    "INT": "BIGINT",
    "BIGINT": "BIGINT",
    "DOUBLE": _NUMBER,
    "BOOLEAN": "BOOLEAN",
    "TIMESTAMP": "STRING",
    "DATE": "STRING",
}
TEXT_OR_INTEGER: Final = "STRING|BIGINT"

# Possessive (*+, ++), here and below: Java then neither recurses nor goes back, so no text can make it slow, nor deep.
_NAME: Final = "(?:[A-Za-z0-9_]++|`(?:[^`]|``)*+`)"
# How deep a value may be nested that the schema does not name, but that stands inside one that it does.
MOST_UNREAD_LEVELS: Final = 20


def _unread(levels: int) -> str:
    """Any type, with so many levels of brackets."""
    inner = f"|<{_unread(levels - 1)}>" if levels else ""
    return f"(?:[^<>`]++|`(?:[^`]|``)*+`{inner})*+"


_UNREAD_TYPE: Final = rf"[A-Z]++(?:\([0-9,]++\)|<{_unread(MOST_UNREAD_LEVELS)}>)?+"


def shape_of_value(shape: str) -> str:
    return rf"^(?:{shape})\z"


def shape(type_: Type) -> str:
    """Anything may be null."""
    match type_:
        case Scalar(name):
            return f"{_SCALARS[name]}|VOID"
        case Decimal():
            return f"{_NUMBER}|VOID"
        case Array(element):
            return f"ARRAY<(?:{shape(element)})>|VOID"
        case Map(value):
            return f"OBJECT<{_pairs(f'{_NAME}: (?:{shape(value)})')}>|VOID"
        case Struct(fields):
            return f"{_object([(field.name, shape(field.type)) for field in fields])}|VOID"


def _object(fields: Sequence[tuple[str, str]]) -> str:
    names = "|".join(_written(name) for name, _ in fields)
    read = "|".join(f"{_written(name)}: (?:{type_})" for name, type_ in fields)
    return f"OBJECT<{_pairs(f'(?:{read}|(?!(?:{names}): ){_NAME}: {_UNREAD_TYPE})')}>"


def _pairs(pair: str) -> str:
    return f"(?:{pair}(?:, (?!>)|(?=>)))*+"


def _written(name: str) -> str:
    """As Spark writes it. (Seen: were it otherwise, no record would be proven, and a test would fail.)"""
    plain = re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name)
    return name if plain else re.escape("`" + name.replace("`", "``") + "`")
