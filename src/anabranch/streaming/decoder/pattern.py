"""The two regular expressions that a record may match, made from the schema. Pure.

A quantifier is possessive (*+), or what follows cannot be what it takes: so no text can make an expression slow, nor deep.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from anabranch.pipeline.schema import MOST_DIGITS, Array, Decimal, Field, Map, Scalar, Struct, Type
from anabranch.streaming.decoder.reading import Path, ReadField
from anabranch.streaming.decoder.times import USUAL_DAY, USUAL_TIME, YEARS

# Each control character by itself: Java looks single characters up in a table, and asks a range one by one.
_CONTROL: Final = "".join(map(chr, range(0x20)))
_PLAIN: Final = rf'[^"\\{_CONTROL}]'
# Neither NUL nor half of a character.
_HALVES: Final = r"u[dD][89abAB]\p{XDigit}{2}\\u[dD][c-fC-F]\p{XDigit}{2}"
_ESCAPED: Final = rf'\\(?:["\\/bfnrt]|u(?!0000|[dD][89a-fA-F])\p{{XDigit}}{{4}}|{_HALVES})'
_CHARS: Final = f"{_PLAIN}*(?:{_ESCAPED}{_PLAIN}*)*+"
# Jackson rejects long ones.
_KEY: Final = f"{_PLAIN}{{0,200}}+"
_INTEGER: Final = "(?:0|-?[1-9][0-9]{0,17}+)"
_NUMBER: Final = r"-?(?:0|[1-9][0-9]{0,17}+)(?:\.[0-9]{1,18}+)?+"
_WORD: Final = f"{_NUMBER}|true|false|null"
_MOST_FRACTION: Final = 18
_SCALARS: Final = {
    "STRING": f'"{_CHARS}"',
    "INT": "-?(?:0|[1-9][0-9]{0,8}+)",
    "BIGINT": "-?(?:0|[1-9][0-9]{0,17}+)",
    # -0 is an integer, 0 without a sign, to the parser.
    "DOUBLE": rf"(?!-0(?![.eE])){_NUMBER}(?:[eE][+-]?[0-9]{{1,2}}+)?+",
    "BOOLEAN": "(?:true|false)",
}
# Of those that are not the event time.
_TIMES: Final = {"TIMESTAMP": YEARS + USUAL_TIME, "DATE": USUAL_DAY}
# A scalar, as far as it takes to find its end.
_QUOTED: Final = r'"[^"\\]*"'
_TOKEN: Final = rf"(?:{_QUOTED}|[^\",{{}}\[\]]+)"
# Behind a pair, and behind an element: a comma before another one, or the bracket.
_END: Final = '(?:, ?+(?=")|(?=\\}))'
_ELEMENT_END: Final = r"(?:, ?+(?!\])|(?=\]))"
# A key that is not the schema's looks through the rest of its object for itself: so there may be some, not thousands.
_MOST_OTHERS: Final = 32
_OTHER_LEVELS: Final = 2


@dataclass(frozen=True)
class Pattern:
    expression: str
    # By path the groups that hold a value's text, as Java's replacement names them.
    texts: dict[Path, str]


def in_order(fields: Sequence[ReadField]) -> Pattern:
    """The keys in this order, and no others: most producers always write the same. None can come twice."""
    writer, pairs = _Writer(takes_others=False), []
    for one in fields:
        null, optional = _null(one.is_required)
        pairs.append(f'(?:"{_names(one)}": ?+(?:{writer.captured(one)}{null}){_END}){optional}')
    return Pattern(rf"^\{{{''.join(pairs)}\}}\z", writer.texts)


def any_order(fields: Sequence[ReadField]) -> Pattern:
    """In any order, with others between. Takes twice as long: each key is asked which one it is, and whether it came before.

    A key is followed by an empty group of its own, which says that it was here: where it stands again, `\\number` matches.
    The test stands behind all groups, because Java reads `\\12` as a reference only where twelve groups stand before it.
    Both spellings of a field share a group: who writes both is left to the parser.
    """
    writer, pairs, came, required = _Writer(takes_others=True), [], [], ""
    for one in fields:
        seen = writer.group()
        pairs.append(f'{_names(one)}()": ?+(?:{writer.captured(one)}{_null(one.is_required)[0]})')
        came.append(rf'{_names(one)}"\{seen}')
        required += rf"\{seen}" if one.is_required else ""
    names = _any([f'{_names(one)}"' for one in fields])
    other = f'(?!{names}){writer.other_key()}": ?+{_unread(_OTHER_LEVELS)}'
    between = rf'(?:, ?+"(?!{_any(came)})|(?=\}}))'
    most = len(fields) + _MOST_OTHERS
    return Pattern(rf'^\{{"(?:{_any([*pairs, other])}{between}){{1,{most}}}+\}}{required}\z', writer.texts)


class _Writer:
    """Writes what values match, and counts the groups meanwhile: they are numbered as they stand in the expression."""

    def __init__(self, *, takes_others: bool) -> None:
        """`takes_others`: whether objects inside may have keys that the schema does not name."""
        self._takes_others, self._groups = takes_others, 0
        self.texts: dict[Path, str] = {}

    def captured(self, one: ReadField) -> str:
        """A field's value, with groups for its text and for what is inside of it."""
        path = (one.field.name,)
        if one.takes_integers:
            self.texts[path] = f"${self.group()}${self.group()}"
            return rf'("{_CHARS})"|({_INTEGER})'
        if one.is_event_time:
            self.texts[path] = f"${self.group()}"
            return f'"({USUAL_TIME})"'
        return self._captured(path, one.field.type)

    def _captured(self, path: Path, type_: Type) -> str:
        self.texts[path] = f"${self.group()}"
        match type_:
            case Scalar("STRING"):
                # With the quote in front: an empty string is not none.
                return f'("{_CHARS})"'
            case Scalar("TIMESTAMP" | "DATE" as name):
                return f'"({_TIMES[name]})"'
            case Struct(fields):
                # Its brace says that it is there.
                return rf"(\{{){self._members(fields, lambda field: self._captured((*path, field.name), field.type))}"
            case _:
                return f"({self._value(type_)})"

    def _value(self, type_: Type) -> str:
        """With no groups but those of keys that must differ."""
        match type_:
            case Scalar("TIMESTAMP" | "DATE" as name):
                return f'"{_TIMES[name]}"'
            case Scalar(name):
                return _SCALARS[name]
            case Decimal():
                return _decimal(type_)
            case Array(element):
                return rf"\[(?:(?:{self._value(element)}|null){_ELEMENT_END})*+\]"
            case Map(value):
                return rf'\{{(?:"{self._inner_key()}": ?+(?:{self._value(value)}|null){_END}){{0,{_MOST_OTHERS}}}+\}}'
            case Struct(fields):
                return rf"\{{{self._members(fields, lambda field: self._value(field.type))}"

    def _members(self, fields: Sequence[Field], value: Callable[[Field], str]) -> str:
        """What follows an object's brace: members in the order of the schema, so none comes twice."""
        names = _any([re.escape(field.name) for field in fields])
        parts = (self._inner_others(names) + _member(field, value(field)) for field in fields)
        return rf"{''.join(parts)}{self._inner_others(names)}\}}"

    def other_key(self) -> str:
        """One that does not come again: a quote stands only around strings, and only a key is followed by a colon."""
        return rf'({_KEY})(?![^\n]*"\{self.group()}":)'

    def _inner_others(self, names: str) -> str:
        if not self._takes_others:
            return ""
        return rf'(?:"(?!{names}"){self._inner_key()}": ?+(?:"{_PLAIN}*"|{_WORD}){_END}){{0,{_MOST_OTHERS}}}+'

    def _inner_key(self) -> str:
        """One that does not come again before its object ends, which has nothing but scalars from here on."""
        group = self.group()
        return rf'({_KEY})(?=": ?+{_TOKEN}(?:, ?+(?!"\{group}"){_QUOTED}: ?+{_TOKEN})*+\}})'

    def group(self) -> int:
        self._groups += 1
        return self._groups


def _member(field: Field, value: str) -> str:
    null, optional = _null(field.is_required)
    return f'(?:"{re.escape(field.name)}": ?+(?:{value}{null}){_END}){optional}'


def _names(one: ReadField) -> str:
    return _any([re.escape(key) for key in one.keys])


def _null(is_required: bool) -> tuple[str, str]:
    return ("", "") if is_required else ("|null", "?+")


def _any(expressions: Sequence[str]) -> str:
    return f"(?:{'|'.join(expressions)})"


def _unread(levels: int) -> str:
    """Any JSON value that is not deep."""
    scalar = f'"{_CHARS}"|{_WORD}'
    if not levels:
        return f"(?:{scalar})"
    inner = _unread(levels - 1)
    array = rf"\[(?:{inner}{_ELEMENT_END})*+\]"
    return rf'(?:{scalar}|{array}|\{{(?:"{_PLAIN}*+": ?+{inner}{_END})*+\}})'


def _decimal(type_: Decimal) -> str:
    """One that is rounded has a digit to spare before its point: 9.99 may become 10.0."""
    whole = type_.precision - type_.scale
    exact = _digits(whole) + (rf"(?:\.[0-9]{{1,{type_.scale}}}+)?+" if type_.scale else "")
    rounded = (
        rf"{_digits(whole - 1)}\.[0-9]{{1,{min(_MOST_FRACTION, MOST_DIGITS - whole)}}}+" if 0 < whole < MOST_DIGITS else ""
    )
    return f"-?(?:{exact}(?![0-9.]){'|' + rounded if rounded else ''})"


def _digits(most: int) -> str:
    return f"(?:0|[1-9][0-9]{{0,{most - 1}}}+)" if most > 0 else "0"
