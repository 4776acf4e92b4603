"""A record's fields by the types of its schema, in SQL: as from_json reads them, and what has to be made of that.

Spark reads most types as they are meant, once their shape is proven (shape.py). Not these:

* TIMESTAMP and DATE are read as STRING: Spark's own reading takes epoch numbers, the session's zone, and half of a date.
* DECIMAL is read as VARIANT: read directly, 1e999999999 would fill the memory with zeros.
* DOUBLE takes what is too great for it, as infinite.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from anabranch.pipeline.schema import Array, Decimal, Map, Scalar, Struct, Type, quoted
from anabranch.streaming.decoder.times import any_instant, day

_GREATEST: Final = "1.7976931348623157E308D"


def read_type(type_: Type) -> str:
    """The type in from_json's schema."""
    match type_:
        case Scalar(name):
            return "STRING" if name in ("TIMESTAMP", "DATE") else name
        case Decimal():
            return "VARIANT"
        case Array(element):
            return f"ARRAY<{read_type(element)}>"
        case Map(value):
            return f"MAP<STRING, {read_type(value)}>"
        case Struct(fields):
            return f"STRUCT<{', '.join(f'{quoted(field.name)}: {read_type(field.type)}' for field in fields)}>"


def has_times(type_: Type) -> bool:
    return any(one in (Scalar("TIMESTAMP"), Scalar("DATE")) for one in _leaves(type_))


def is_converted(type_: Type) -> bool:
    return has_times(type_) or any(isinstance(one, Decimal) for one in _leaves(type_))


def _leaves(type_: Type) -> Iterator[Type]:
    match type_:
        case Array(inner) | Map(inner):
            yield from _leaves(inner)
        case Struct(fields):
            for field in fields:
                yield from _leaves(field.type)
        case _:
            yield type_


def converted(read: str, type_: Type, zone: str, level: int = 0) -> str:
    """The value as the schema has it; null, here or inside, where what was read cannot be such."""
    if not is_converted(type_):
        return read
    match type_:
        case Scalar("DATE"):
            return day(read)
        case Scalar():
            return any_instant(read, zone)
        case Decimal():
            # Half up; null where it has more digits than the type.
            return f"try_cast({read} AS {type_.describe()})"
        case Array(element):
            return f"transform({read}, x{level} -> {converted(f'x{level}', element, zone, level + 1)})"
        case Map(value):
            return f"transform_values({read}, (k{level}, x{level}) -> {converted(f'x{level}', value, zone, level + 1)})"
        case Struct(fields):
            parts = (f"{converted(_part(read, one.name), one.type, zone, level)} AS {quoted(one.name)}" for one in fields)
            return f"CASE WHEN {read} IS NOT NULL THEN struct({', '.join(parts)}) END"


def fault(read: str, type_: Type, zone: str, level: int = 0) -> str:
    """Whether the schema rejects a value of the right shape; empty where it takes all. True or false, never null."""
    match type_:
        case Scalar("DOUBLE"):
            return f"({read} IS NOT NULL AND NOT {read} BETWEEN -{_GREATEST} AND {_GREATEST})"
        case Scalar() | Decimal():
            lost = f"(NOT {is_missing(read, type_)} AND {converted(read, type_, zone)} IS NULL)"
            return lost if is_converted(type_) else ""
        case Array(element):
            return _exists(read, element, zone, level)
        case Map(value):
            return _exists(f"map_values({read})", value, zone, level)
        case Struct(fields):
            missing = [is_missing(_part(read, field.name), field.type) for field in fields if field.is_required]
            wrong = [fault(_part(read, field.name), field.type, zone, level) for field in fields]
            any_of = " OR ".join(filter(None, [*missing, *wrong]))
            return f"({read} IS NOT NULL AND ({any_of}))" if any_of else ""


def may_overflow(type_: Type) -> bool:
    """Whether from_json itself rejects some values of the right shape: an INT that is greater than an INT."""
    return Scalar("INT") in _leaves(type_)


def is_missing(read: str, type_: Type) -> str:
    # JSON's null is a VARIANT of its own.
    return f"({read} IS NULL OR is_variant_null({read}))" if isinstance(type_, Decimal) else f"({read} IS NULL)"


def _exists(array: str, element: Type, zone: str, level: int) -> str:
    inside = fault(f"x{level}", element, zone, level + 1)
    return f"coalesce(exists({array}, x{level} -> {inside}), false)" if inside else ""


def _part(struct: str, name: str) -> str:
    return f"{struct}.{quoted(name)}"
