"""The two regular expressions that a record may match, made from the schema. Pure.

A quantifier is possessive (*+), or what follows cannot be what it takes: so no text can make an expression slow, nor deep.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from anabranch.pipeline.schema import MOST_DIGITS, Array, Decimal, Field, Map, Scalar, Struct, Type
from anabranch.streaming.decoder.reading import ReadField
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
    # By a field's number the groups that hold its text, as Java's replacement names them.
    texts: dict[int, str]


def can_match(type_: Type, *, is_inside: bool = False) -> bool:
    """Times inside of others are the parser's: they would have to be gone over one by one."""
    match type_:
        case Scalar(name):
            return not (is_inside and name in ("TIMESTAMP", "DATE"))
        case Array(inner) | Map(inner):
            return can_match(inner, is_inside=True)
        case Struct(fields):
            return all(can_match(field.type, is_inside=True) for field in fields)
        case _:
            return True


def in_order(fields: Sequence[ReadField]) -> Pattern:
    """The keys in this order, and no others: most producers always write the same. None can come twice."""
    writer, texts, pairs = _Writer(), {}, []
    for one in fields:
        captured, texts[one.number] = writer.captured(one)
        null, optional = _null(one.is_required)
        pairs.append(f'(?:"{_names(one)}": ?+(?:{captured}{null}){_END}){optional}')
    return Pattern(rf"^\{{{''.join(pairs)}\}}\z", texts)


def any_order(fields: Sequence[ReadField]) -> Pattern:
    """In any order, with others between. Takes twice as long: each key is asked which one it is, and whether it came before.

    A key is followed by an empty group of its own, which says that it was here: where it stands again, `\\number` matches.
    The test stands behind all groups, because Java reads `\\12` as a reference only where twelve groups stand before it.
    Both spellings of a field share a group: who writes both is left to the parser.
    """
    writer, texts, pairs, came, required = _Writer(), {}, [], [], ""
    for one in fields:
        seen = writer.group()
        captured, texts[one.number] = writer.captured(one)
        pairs.append(f'{_names(one)}()": ?+(?:{captured}{_null(one.is_required)[0]})')
        came.append(rf'{_names(one)}"\{seen}')
        required += rf"\{seen}" if one.is_required else ""
    names = _any([f'{_names(one)}"' for one in fields])
    other = f'(?!{names}){writer.other_key()}": ?+{_unread(_OTHER_LEVELS)}'
    between = rf'(?:, ?+"(?!{_any(came)})|(?=\}}))'
    most = len(fields) + _MOST_OTHERS
    return Pattern(rf'^\{{"(?:{_any([*pairs, other])}{between}){{1,{most}}}+\}}{required}\z', texts)


class _Writer:
    """Counts the groups while an expression is written."""

    def __init__(self) -> None:
        self._groups = 0

    def captured(self, one: ReadField) -> tuple[str, str]:
        """A field's value, and the groups that hold its text. A string's has a quote in front: an empty one is not none."""
        group = f"${self.group()}"
        match one.field.type:
            case Scalar("STRING") if one.takes_integers:
                return rf'("{_CHARS})"|({_INTEGER})', f"{group}${self.group()}"
            case Scalar("STRING"):
                return f'("{_CHARS})"', group
            case Scalar("TIMESTAMP"):
                return f'"({USUAL_TIME if one.is_event_time else YEARS + USUAL_TIME})"', group
            case Scalar("DATE"):
                return f'"({USUAL_DAY})"', group
            case type_:
                return f"({self._value(type_)})", group

    def _value(self, type_: Type) -> str:
        """With no groups but those of keys that must differ."""
        match type_:
            case Scalar(name):
                return _SCALARS[name]
            case Decimal():
                return _decimal(type_)
            case Array(element):
                return rf"\[(?:(?:{self._value(element)}|null){_ELEMENT_END})*+\]"
            case Map(value):
                return rf'\{{(?:"{self._inner_key()}": ?+(?:{self._value(value)}|null){_END}){{0,{_MOST_OTHERS}}}+\}}'
            case Struct(fields):
                names = _any([re.escape(field.name) for field in fields])
                parts = (self._inner_others(names) + self._part(field) for field in fields)
                return rf"\{{{''.join(parts)}{self._inner_others(names)}\}}"

    def _part(self, field: Field) -> str:
        """In the order of the schema: so none comes twice."""
        null, optional = _null(field.is_required)
        return f'(?:"{re.escape(field.name)}": ?+(?:{self._value(field.type)}{null}){_END}){optional}'

    def other_key(self) -> str:
        """One that does not come again: a quote stands only around strings, and only a key is followed by a colon."""
        return rf'({_KEY})(?![^\n]*"\{self.group()}":)'

    def _inner_others(self, names: str) -> str:
        return rf'(?:"(?!{names}"){self._inner_key()}": ?+(?:"{_PLAIN}*"|{_WORD}){_END}){{0,{_MOST_OTHERS}}}+'

    def _inner_key(self) -> str:
        """One that does not come again before its object ends, which has nothing but scalars from here on."""
        group = self.group()
        return rf'({_KEY})(?=": ?+{_TOKEN}(?:, ?+(?!"\{group}"){_QUOTED}: ?+{_TOKEN})*+\}})'

    def group(self) -> int:
        self._groups += 1
        return self._groups


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
