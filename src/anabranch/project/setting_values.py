"""The kinds of values that settings have: what each takes, and in which words another value is rejected."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BeforeValidator

from anabranch.errors import AnabranchError
from anabranch.text.format import parse_topic_name, parse_whole_ms_s

# As Java's client takes it; librdkafka alone would default the port, and Spark would fail later.
_ADDRESS = re.compile(r"(?:[\w-]+://)?(?:\[[\w:.%-]+\]|[\w.%-]+):(\d{1,5})", re.ASCII)
# A record as every command names it; partitions and offsets as large as Kafka's.
_RECORD = re.compile(r"[A-Za-z0-9._-]{1,249}:[0-9]{1,9}:[0-9]{1,18}")
Parsed = TypeVar("Parsed")


def _said(parse: Callable[[str], Parsed]) -> Callable[[object], Parsed]:
    """A parser of ours as one of pydantic's: its error becomes the reason."""

    def parsed(value: object) -> Parsed:
        try:
            return parse(str(value))
        except AnabranchError as error:
            raise ValueError(f"{error.text}; {'; '.join(error.remedies)}") from None

    return parsed


def _number(value: object) -> object:
    """Text too, because the environment has nothing else. Python takes true for 1; nobody who writes it means that."""
    if isinstance(value, bool):
        raise ValueError(f"{_text(value)} is not a number")
    return value


def _positive(duration_s: float) -> float:
    if duration_s <= 0:
        raise ValueError("it must be longer than 0; write it with its unit: 10m")
    return duration_s


def _not_empty(value: object) -> object:
    """An empty path would be taken for the project's directory."""
    if isinstance(value, str) and not value.strip():
        raise ValueError("it is empty; remove the line to use the default")
    return value


def _addresses(text: str) -> str:
    for address in text.split(","):
        found = _ADDRESS.fullmatch(address.strip())
        if found is None or not 0 < int(found[1]) <= 65535:
            raise ValueError(f"{address.strip()!r} is not an address; write HOST:PORT, several with commas")
    return text


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ValueError(f"{name!r} is not a time zone; write it like Europe/Paris or UTC") from None
    return name


def _record(text: str) -> str:
    if _RECORD.fullmatch(text) is None:
        raise ValueError(f"{text!r} is not a record; write it like visits:0:24 (topic, partition, offset)")
    return text


def _flat(value: object) -> object:
    """TOML reads `sasl.username = "x"` as a table in a table; a property is one dotted name with a text."""
    return dict(flatten(value)) if isinstance(value, Mapping) else value


def _text(value: object) -> str:
    if not isinstance(value, bool | int | float | str):
        raise ValueError("it must be a text, a number, true or false")
    return str(value).lower() if isinstance(value, bool) else str(value)


def flatten(tree: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from flatten(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value


Text = Annotated[str, BeforeValidator(_not_empty)]
Addresses = Annotated[str, AfterValidator(_addresses)]
Zone = Annotated[str, AfterValidator(_zone)]
Record = Annotated[str, AfterValidator(_record)]
Duration = Annotated[float, BeforeValidator(_said(parse_whole_ms_s))]
Length = Annotated[float, BeforeValidator(_said(parse_whole_ms_s)), AfterValidator(_positive)]
Number = Annotated[int, BeforeValidator(_number)]
TopicName = Annotated[str, AfterValidator(_said(parse_topic_name))]
Location = Annotated[Path, BeforeValidator(_not_empty)]
Properties = Annotated[dict[str, Annotated[str, BeforeValidator(_text)]], BeforeValidator(_flat)]
