"""A slow and obvious judge of records, in plain Python: what the decoder must say of each. It shares no code with it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import ROUND_HALF_UP, Context, InvalidOperation
from decimal import Decimal as Number
from typing import Any
from zoneinfo import ZoneInfo

from anabranch.pipeline.schema import Array, Decimal, Field, Map, Scalar, Struct, Type
from anabranch.pipeline.topic import Topic

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIME = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[T ]([0-9]{2}):([0-9]{2})"
    r"(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?(Z|[+-][0-9]{2}(?::?[0-9]{2})?)?"
)
_EXACT = Context(prec=2000)


class WrongTypeError(Exception):
    """A value that the schema does not take."""


@dataclass(frozen=True)
class Fraction:
    """A JSON number with a point or an exponent, as it is written."""

    text: str


class Object(list[tuple[str, Any]]):
    """A JSON object, with every key that it has."""


@dataclass(frozen=True)
class Verdict:
    problem: str | None
    # Of a good record: each field's value, times in microseconds from the epoch.
    values: dict[str, Any] | None = None


def _reject(text: str) -> None:
    raise ValueError(text)


_DECODER = json.JSONDecoder(object_pairs_hook=Object, parse_float=Fraction, parse_constant=_reject)


def _parsed(text: str) -> tuple[Any, str] | None:
    """The first JSON value and what stands behind it; None: there is none."""
    start = len(text) - len(text.lstrip(" \t\r\n"))
    try:
        value, end = _DECODER.raw_decode(text, start)
    except ValueError:
        return None
    return value, text[end:].strip(" \t\r\n")


def judge(value: bytes | None, topic: Topic, *, zone: str, record_time_s: float, tolerance_s: float) -> Verdict:
    if value is None:
        return Verdict("null value")
    if not value.strip(b" \t\r\n"):
        return Verdict("empty record")
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return Verdict("not UTF-8")
    parsed = _parsed(text)
    if parsed is None or not isinstance(parsed[0], Object):
        return Verdict(_unreadable(text))
    record, rest = parsed
    said = {field.name: _said(record, topic.spellings(field.name)) for field in topic.schema.fields}
    keys = {key for field in topic.schema.fields for key in topic.spellings(field.name)}
    broken = _broken(record, rest, [value for key, value in record if key in keys])
    if broken is not None:
        return Verdict(broken)
    instant = _event_time(said[topic.event_time], topic.event_time, zone)
    if isinstance(instant, str):
        return Verdict(instant)
    if instant - record_time_s * 1_000_000 > tolerance_s * 1_000_000:
        return Verdict(f"{topic.event_time} in the future")
    values: dict[str, Any] = {topic.event_time: instant}
    for field in topic.schema.fields:
        if field.name != topic.event_time:
            try:
                values[field.name] = _field(field, said[field.name], zone, field.name in topic.integers_as_text)
            except WrongTypeError:
                missing = said[field.name] is None
                return Verdict(f"no {field.name}" if missing else f"wrong type: {field.name}")
    return Verdict(None, values)


def _unreadable(text: str) -> str:
    if "\0" in text:
        return "NUL character"
    wrapped = _parsed(f"[{text}]")
    is_value = wrapped is not None and len(wrapped[0]) == 1 and not text.lstrip(" \t\r\n").startswith("{")
    return "not an object" if is_value else "not JSON"


def _said(record: Object, keys: tuple[str, ...]) -> Any:
    found = dict(record)
    return next((found[key] for key in keys if found.get(key) is not None), None)


def _broken(record: Object, rest: str, read: list[Any]) -> str | None:
    texts = [text for value in read for text in _strings(value)]
    if any("\0" in text for text in texts):
        return "NUL character"
    if any(map(_is_half, texts)):
        return "lone surrogate"
    if rest:
        return "more than one object"
    if len({key for key, _ in record}) < len(record) or any(map(_repeats, read)):
        return "duplicate key"
    return None


def _strings(value: Any) -> Iterator[str]:
    """Every string in it, keys as well."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Object):
        for key, inner in value:
            yield key
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def _is_half(text: str) -> bool:
    return any(0xD800 <= ord(char) <= 0xDFFF for char in text)


def _repeats(value: Any) -> bool:
    if isinstance(value, Object):
        return len({key for key, _ in value}) < len(value) or any(_repeats(inner) for _, inner in value)
    return isinstance(value, list) and any(map(_repeats, value))


def _event_time(said: Any, name: str, zone: str) -> int | str:
    if said is None:
        return f"no {name}"
    if isinstance(said, Fraction) or (isinstance(said, int) and not isinstance(said, bool)):
        return f"{name} is a number"
    if not isinstance(said, str):
        return f"{name} is not a time"
    if re.fullmatch(r"-?[0-9.]+(E-?[0-9]+)?", said):
        return f"{name} is a number"
    if re.match(r"([+-][0-9]{4,}|[0-9]{5,})-[0-9]{2}-[0-9]{2}[T ]", said):
        return f"{name} out of range"
    instant = _instant(said, zone)
    if instant is None:
        return f"{name} is not a time"
    in_range = 0 <= instant < (datetime(9999, 1, 1, tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
    return instant if in_range else f"{name} out of range"


def _instant(text: str, zone: str) -> int | None:
    """Microseconds from the epoch. The years 0 and 9999 stand for themselves, though Python has no room beside them."""
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, offset = match.groups()
    shift = {"0000": 400, "0001": 400, "9999": -400}.get(year, 0)
    try:
        place = _offset(offset) if offset else ZoneInfo(zone)
        moment = datetime(int(year) + shift, int(month), int(day), int(hour), int(minute), int(second or 0), tzinfo=place)
    except ValueError:
        return None
    micros = int((fraction or "")[:6].ljust(6, "0"))
    # 400 years have always the same number of days.
    return (moment - _EPOCH) // timedelta(seconds=1) * 1_000_000 + micros - (shift // 400) * 146_097 * 86_400 * 1_000_000


def _offset(text: str) -> timezone:
    if text == "Z":
        return UTC
    hours, minutes = int(text[1:3]), int(text[3:].removeprefix(":") or 0)
    if minutes > 59 or hours * 60 + minutes > 18 * 60:
        raise ValueError(text)
    shift = timedelta(hours=hours, minutes=minutes)
    return timezone(-shift if text[0] == "-" else shift)


def _field(field: Field, said: Any, zone: str, takes_integers: bool = False) -> Any:
    if said is None:
        if field.is_required:
            raise WrongTypeError
        return None
    if takes_integers and type(said) is int:
        return str(said)
    return _typed(field.type, said, zone)


def _typed(type_: Type, said: Any, zone: str) -> Any:
    if said is None:
        return None
    match type_, said:
        case Array(element), list() if not isinstance(said, Object):
            return [_typed(element, one, zone) for one in said]
        case Map(value), Object():
            return {key: _typed(value, one, zone) for key, one in said}
        case Struct(fields), Object():
            return {field.name: _field(field, dict(said).get(field.name), zone) for field in fields}
        case Decimal(precision, scale), int() | Fraction() if not isinstance(said, bool):
            return _decimal(said, precision, scale)
        case Scalar(name), _:
            return _scalar(name, said, zone)
    raise WrongTypeError


def _scalar(name: str, said: Any, zone: str) -> Any:
    match name, said:
        case ("STRING", str()) | ("BOOLEAN", bool()):
            return said
        case (("INT" | "BIGINT"), int()) if not isinstance(said, bool):
            most = 2 ** (31 if name == "INT" else 63)
            if -most <= said < most:
                return said
        case "DOUBLE", int() | Fraction() if not isinstance(said, bool):
            found = float(Number(said.text if isinstance(said, Fraction) else said))
            if abs(found) < float("inf"):
                return found
        case "DATE", str():
            if re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", said) and (day := _day(said)) is not None:
                return day
        case "TIMESTAMP", str():
            instant = None if re.match("000[01]|9999", said) else _instant(said, zone)
            if instant is not None:
                return instant
    raise WrongTypeError


def _day(text: str) -> str | None:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        return None


def _decimal(said: int | Fraction, precision: int, scale: int) -> Number:
    """Half up."""
    number = Number(said.text if isinstance(said, Fraction) else said)
    try:
        rounded = number.quantize(Number(1).scaleb(-scale), ROUND_HALF_UP, _EXACT)
    except InvalidOperation:
        raise WrongTypeError from None
    if rounded.is_infinite() or abs(rounded) >= Number(10) ** (precision - scale):
        raise WrongTypeError
    return rounded
