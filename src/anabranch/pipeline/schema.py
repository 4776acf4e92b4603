"""A topic's schema: the DDL text that a user writes, as a value, and back. Pure; Spark reads what `describe()` writes.

    order_id STRING NOT NULL, amount DECIMAL(12,2), tags ARRAY<STRING>, customer STRUCT<id: BIGINT NOT NULL, city: STRING>

A part of Spark's own DDL, no other words: each type here is one of which the decoder knows what JSON value it takes.

Decided here:
* Type names in any case, and Spark's synonyms. `name TYPE` and `name: TYPE` alike, as in Spark; names that are no plain words
  in backticks, a backtick in them doubled. Empty names and those with control characters are rejected.
* Names are a JSON key's, letter by letter; two that differ only in capitals are rejected, because Spark would confuse them.
* At the top level the names of what stands beside the fields (RESERVED) are rejected. Inside a STRUCT they are free.
* Keys of a MAP are STRING, as JSON's are; a MAP's `value` and an ARRAY's `element` may always be null, as in Spark's DDL.
* At most MOST_LEVELS of STRUCT, ARRAY and MAP inside each other: readers of such a topic nest as deep.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from anabranch.errors import Misused
from anabranch.pipeline import messages
from anabranch.text.suggest import did_you_mean

MOST_LEVELS: Final = 10
MOST_DIGITS: Final = 38  # of Spark's DECIMAL

# What the decoder adds to each record, and the window that a pipeline may declare.
METADATA: Final = ("_problem", "_topic", "_partition", "_offset", "_record_time", "_key", "_value", "_headers")
RESERVED: Final = ("window", *METADATA)

SCALARS: Final = ("STRING", "INT", "BIGINT", "DOUBLE", "BOOLEAN", "TIMESTAMP", "DATE")
_TYPES: Final = (*SCALARS, "DECIMAL", "STRUCT", "ARRAY", "MAP")
_SYNONYMS: Final = {"INTEGER": "INT", "LONG": "BIGINT", "DEC": "DECIMAL", "NUMERIC": "DECIMAL", "TIMESTAMP_LTZ": "TIMESTAMP"}
# Types of Spark and of databases that are not decoded, and the one that holds their values.
_INSTEAD: Final = {
    **dict.fromkeys(("TINYINT", "BYTE", "SMALLINT", "SHORT"), "INT"),
    **dict.fromkeys(("FLOAT", "REAL"), "DOUBLE"),
    **dict.fromkeys(("VARCHAR", "CHAR", "TEXT", "BINARY", "VARIANT", "UUID", "JSON"), "STRING"),
    **dict.fromkeys(("TIMESTAMP_NTZ", "DATETIME"), "TIMESTAMP"),
}
_PLAIN_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TOKEN: Final = re.compile(r"\s*(?:(?P<quoted>`(?:[^`]|``)*`)|(?P<word>\w+)|(?P<mark>[<>(),:])|(?P<other>\S))")


@dataclass(frozen=True)
class Scalar:
    """One of SCALARS."""

    name: str

    def describe(self) -> str:
        return self.name


@dataclass(frozen=True)
class Decimal:
    precision: int
    scale: int

    def describe(self) -> str:
        return f"DECIMAL({self.precision},{self.scale})"


@dataclass(frozen=True)
class Array:
    element: Type

    def describe(self) -> str:
        return f"ARRAY<{self.element.describe()}>"


@dataclass(frozen=True)
class Map:
    value: Type

    def describe(self) -> str:
        return f"MAP<STRING, {self.value.describe()}>"


@dataclass(frozen=True)
class Struct:
    fields: tuple[Field, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.fields)

    def field(self, name: str) -> Field | None:
        return next((field for field in self.fields if field.name == name), None)

    def describe(self) -> str:
        return f"STRUCT<{', '.join(field.describe(': ') for field in self.fields)}>"

    def ddl(self) -> str:
        """As the whole schema of a topic: `parse_schema` reads the same value back."""
        return ", ".join(field.describe(" ") for field in self.fields)


@dataclass(frozen=True)
class Field:
    name: str
    type: Type
    is_required: bool = False

    def describe(self, between: str) -> str:
        return f"{quoted(self.name)}{between}{self.type.describe()}{' NOT NULL' if self.is_required else ''}"


Type = Scalar | Decimal | Struct | Array | Map


def quoted(name: str) -> str:
    """As DDL and SQL read it."""
    return name if _PLAIN_NAME.fullmatch(name) else f"`{name.replace('`', '``')}`"


def is_legal_name(name: str) -> bool:
    return bool(name) and name.isprintable()


def parse_schema(ddl: str) -> Struct:
    if not ddl.strip():
        raise messages.SCHEMA_EMPTY()
    return _Parser(ddl).fields(level=0, end="")


class _Parser:
    """Reads token by token. A position is a character's number from 1, as editors count."""

    def __init__(self, ddl: str) -> None:
        found = [match for match in _TOKEN.finditer(ddl) if match.lastgroup]
        self._tokens = [(str(match.lastgroup), match.group(str(match.lastgroup))) for match in found]
        self._positions = [match.start(str(match.lastgroup)) + 1 for match in found] + [len(ddl.rstrip()) + 1]
        self._next = 0

    def fields(self, level: int, end: str) -> Struct:
        """Up to the mark that ends them, or the end of the text."""
        fields: list[Field] = []
        seen: set[str] = set()
        while True:
            position = self._position
            field = self._field(level)
            if level == 0 and field.name.lower() in RESERVED:
                raise messages.SCHEMA_NAME_RESERVED(name=field.name, position=position)
            if field.name.lower() in seen:
                raise messages.SCHEMA_NAME_REPEATED(name=field.name, position=position)
            seen.add(field.name.lower())
            fields.append(field)
            if not self._take(","):
                break
        self._end(end)
        return Struct(tuple(fields))

    def _field(self, level: int) -> Field:
        name = self._name()
        self._take(":")
        type_ = self._type(level)
        is_required = self._take("NOT")
        if is_required and not self._take("NULL"):
            raise self._malformed("NULL")
        return Field(name, type_, is_required)

    def _name(self) -> str:
        kind, text = self._token
        if kind not in ("word", "quoted"):
            raise self._malformed("the name of a field")
        name = text[1:-1].replace("``", "`") if kind == "quoted" else text
        if not is_legal_name(name):
            raise messages.SCHEMA_NAME_ILLEGAL(name=name, position=self._position)
        self._next += 1
        return name

    def _type(self, level: int) -> Type:
        position = self._position
        kind, text = self._token
        if kind != "word":
            raise self._malformed("a type")
        self._next += 1
        name = _SYNONYMS.get(text.upper(), text.upper())
        if name in SCALARS:
            return Scalar(name)
        if name == "DECIMAL":
            return self._decimal(position)
        if name not in _TYPES:
            instead = _INSTEAD.get(name)
            suggestion = f"did you mean {instead}?" if instead else did_you_mean(name, _TYPES)
            raise messages.SCHEMA_TYPE_UNKNOWN(type=text, position=position, suggestion=suggestion)
        if level == MOST_LEVELS:
            raise messages.SCHEMA_TOO_DEEP(position=position, most=MOST_LEVELS)
        return self._nested(name, level + 1)

    def _nested(self, name: str, level: int) -> Type:
        self._must_take("<")
        if name == "STRUCT":
            return self.fields(level, ">")
        if name == "MAP":
            position = self._position
            if self._type(level) != Scalar("STRING"):
                raise messages.SCHEMA_MAP_KEY(position=position)
            self._must_take(",")
        inner = self._type(level)
        self._end(">")
        return Map(inner) if name == "MAP" else Array(inner)

    def _decimal(self, position: int) -> Decimal:
        precision, scale = 10, 0
        if self._take("("):
            precision = self._number()
            scale = self._number() if self._take(",") else 0
            self._end(")")
        if not (1 <= precision <= MOST_DIGITS and scale <= precision):
            raise messages.SCHEMA_DECIMAL_OUT_OF_RANGE(precision=precision, scale=scale, position=position, most=MOST_DIGITS)
        return Decimal(precision, scale)

    def _number(self) -> int:
        _, text = self._token
        if not re.fullmatch("[0-9]{1,3}", text):
            raise self._malformed("a number of digits")
        self._next += 1
        return int(text)

    @property
    def _token(self) -> tuple[str, str]:
        return self._tokens[self._next] if self._next < len(self._tokens) else ("end", "")

    @property
    def _position(self) -> int:
        return self._positions[self._next]

    def _take(self, text: str) -> bool:
        """Whether it is next, in which case it is behind us now. Nothing in backticks is a mark or a keyword."""
        kind, found = self._token
        is_next = kind in ("word", "mark") and found.upper() == text
        self._next += is_next
        return is_next

    def _must_take(self, text: str) -> None:
        if not self._take(text):
            raise self._malformed(f"`{text}`")

    def _end(self, mark: str) -> None:
        if mark:
            if not self._take(mark):
                raise self._malformed(f"`,` or `{mark}`")
        elif self._token[0] != "end":
            raise self._malformed("`,` or the end")

    def _malformed(self, expected: str) -> Misused:
        _, text = self._token
        return messages.SCHEMA_MALFORMED(expected=expected, found=f"`{text}`" if text else "the end", position=self._position)
