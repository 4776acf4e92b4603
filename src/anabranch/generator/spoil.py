"""Broken values: each of these ways to break one was seen to harm a pipeline, or to go through it unnoticed.

Pure. The decoder must report every one of them as a problem; none may fail a query. Which problem it reports, a fault says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from anabranch.pipeline.schema import Array, Decimal, Field, Map, Scalar, Struct
from anabranch.pipeline.topic import Topic

# Made once: json.dumps would make an encoder for each call.
_written = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
# Where a text comes that no encoder would write. No event says this.
_PLACE = "<spoiled>"


@dataclass(frozen=True)
class Fault:
    # What the decoder reports; None: that depends on the value.
    problem: str | None
    spoil: Callable[[bytes], bytes]
    # Whether it is still one JSON object whose other fields can be read.
    is_readable: bool


@dataclass(frozen=True)
class Spoiled:
    value: bytes
    problem: str | None
    is_readable: bool


def spoil(value: bytes, faults: Sequence[Fault], fate: float) -> Spoiled:
    """The value with the fault that `fate` (0 <= fate < 1) selects."""
    fault = faults[int(fate * len(faults))]
    return Spoiled(fault.spoil(value), fault.problem, fault.is_readable)


def time_faults(event_time: str) -> tuple[Fault, ...]:
    """A JSON object that lacks only a usable event time."""
    written = {
        "null": "no {}",
        "1756969200000": "{} is a number",  # milliseconds, which from_json reads as seconds: year 57644
        '"07:00:00"': "{} is not a time",  # Spark reads it as today
        '"2025"': "{} is a number",
        '"2025-02-30T07:00:00Z"': "{} is not a time",
        '"yesterday"': "{} is not a time",
        '"9999-12-31T23:59:59Z"': "{} out of range",  # after the last year of an event
    }
    return (
        _lacking(event_time),
        *(
            Fault(problem.format(event_time), _with_text(event_time, text), is_readable=True)
            for text, problem in written.items()
        ),
    )


def unreadable_faults(text_field: str, *, is_ascii: bool = True) -> tuple[Fault, ...]:
    """Not a single JSON object in UTF-8: no field of it can be trusted."""
    ways: tuple[tuple[str | None, Callable[[bytes], bytes]], ...] = (
        ("not JSON", lambda value: value[: len(value) // 2]),
        ("not JSON", lambda _: b"GET /index HTTP/1.1"),
        ("empty record", lambda _: b""),
        ("not an object", lambda _: b"null"),
        ("not an object", lambda value: b"[" + value + b"]"),
        ("more than one object", lambda value: value + value),
        # Of ASCII, each second byte is NUL, and all of it is UTF-8.
        ("NUL character" if is_ascii else None, lambda value: value.decode().encode("utf-16-le")),
        ("not UTF-8", _with_text(text_field, '"caf\udce9"')),
        ("NUL character", _with_text(text_field, '"page\x00"')),
    )
    return tuple(Fault(problem, way, is_readable=False) for problem, way in ways)


def field_faults(topic: Topic) -> Iterator[Fault]:
    """What a schema rejects in fields other than the event time."""
    for field in topic.schema.fields:
        if field.name == topic.event_time:
            continue
        if field.is_required:
            yield _lacking(field.name, *topic.spellings(field.name)[1:])
            yield _with(field.name, "null", f"no {field.name}")
        for text in _wrong_values(field, takes_integers=field.name in topic.integers_as_text):
            yield _with(field.name, text, f"wrong type: {field.name}")


def repeated_key(field: str) -> Fault:
    """from_json would silently take the last."""
    return Fault("duplicate key", lambda value: b"{%s:null,%s" % (json.dumps(field).encode(), value[1:]), is_readable=False)


def half_character(text_field: str) -> Fault:
    """Spark would make it a question mark."""
    return Fault("lone surrogate", lambda value: _changed(value, text_field, '"caf\\ud83d"'), is_readable=False)


def _wrong_values(field: Field, *, takes_integers: bool) -> tuple[str, ...]:
    match field.type:
        case Scalar("STRING"):
            return ("true", "{}") if takes_integers else ("7", "{}")
        case Scalar("INT" | "BIGINT"):
            return '"seven"', "7.5", str(2**31 if field.type.name == "INT" else 2**63)
        case Scalar("DOUBLE"):
            return '"7.5"', "true"
        case Scalar("BOOLEAN"):
            return '"yes"', "1"
        case Scalar("TIMESTAMP"):
            return '"yesterday"', "1756969200000"
        case Scalar():
            return '"2025-02-30"', "20250904"
        case Decimal(precision, scale):
            # And one that is too great for it.
            return '"7.50"', f"1{'0' * (precision - scale)}"
        case Array() | Map():
            return '"none"', "7"
        case Struct():
            return '"none"', "[]"


def _lacking(name: str, *spellings: str) -> Fault:
    return Fault(f"no {name}", lambda value: _without(value, (name, *spellings)), is_readable=True)


def _with(name: str, text: str, problem: str) -> Fault:
    return Fault(problem, lambda value: _changed(value, name, text), is_readable=True)


def _with_text(name: str, text: str) -> Callable[[bytes], bytes]:
    """The same where the key is at the top level, or where any place will do. Ten times as fast."""
    key = _written(name)
    pattern = re.compile(re.escape(f"{key}:").encode() + rb'"[^"]*"')
    written = f"{key}:{text}".encode(errors="surrogateescape")

    def change(value: bytes) -> bytes:
        changed, count = pattern.subn(lambda _: written, value)
        # None: it is missing or null. Several: one may be in an object inside.
        return changed if count == 1 else _changed(value, name, text)

    return change


def _without(value: bytes, names: Sequence[str]) -> bytes:
    return _written({name: one for name, one in json.loads(value).items() if name not in names}).encode()


def _changed(value: bytes, name: str, text: str) -> bytes:
    """The object with another JSON text for a key. A surrogate stands for a byte that is no UTF-8."""
    changed = _written({**json.loads(value), name: _PLACE})
    return changed.replace(f'"{_PLACE}"', text).encode(errors="surrogateescape")
