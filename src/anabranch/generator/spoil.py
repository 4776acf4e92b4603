"""Broken values: each of these ways to break one was seen to harm a pipeline, or to go through it unnoticed.

Pure. The decoder must report every one of them as a `problem`; none may fail a query.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_TIME = re.compile(rb'"event_time":"[^"]*"')
_PAGE = re.compile(rb'"page":"[^"]*"')


def spoil(value: bytes, fate: float) -> tuple[bytes, bool]:
    """The value, broken in the way that `fate` (0 <= fate < 1) selects, and whether its other fields can still be read."""
    way = int(fate * len(_WAYS))
    return _WAYS[way](value), way < len(_TIMELESS)


def _no_time(value: bytes) -> bytes:
    return _TIME.sub(b"", value).replace(b",,", b",")


def _time(written: bytes) -> Callable[[bytes], bytes]:
    return lambda value: _TIME.sub(b'"event_time":' + written, value)


def _invalid_utf8(value: bytes) -> bytes:
    return _PAGE.sub(b'"page":"caf\xe9"', value)


def _nul(value: bytes) -> bytes:
    return _PAGE.sub(b'"page":"page\x00"', value)


# A JSON object that lacks only a usable time.
_TIMELESS: tuple[Callable[[bytes], bytes], ...] = (
    _no_time,
    _time(b"null"),
    _time(b"1756969200000"),  # milliseconds, which from_json reads as seconds: year 57644
    _time(b'"07:00:00"'),  # Spark reads it as today
    _time(b'"2025"'),
    _time(b'"2025-02-30T07:00:00Z"'),
    _time(b'"yesterday"'),
    _time(b'"9999-12-31T23:59:59Z"'),  # after the last year of a visit event
)
# Not a single JSON object in UTF-8: no field of it can be trusted.
_UNREADABLE: tuple[Callable[[bytes], bytes], ...] = (
    lambda value: value[: len(value) // 2],
    lambda _: b"GET /index HTTP/1.1",
    lambda _: b"",
    lambda _: b"null",
    lambda value: b"[" + value + b"]",
    lambda value: value + value,
    lambda value: value.decode().encode("utf-16-le"),
    _invalid_utf8,
    _nul,
)
_WAYS = _TIMELESS + _UNREADABLE
