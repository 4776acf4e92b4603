"""The fields of a dataclass, as JSON has them: name, type, meaning."""

from __future__ import annotations

import dataclasses
import inspect
import re
import types
from collections.abc import Iterator, Mapping
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from tools.reference.markdown import code, escaped, table
from tools.reference.meanings import MEANINGS

_FIELD = re.compile(r"^    (\w+): ")
_TYPES = {str: "text", bytes: "text", int: "integer", float: "number", bool: "true or false", type(None): "null", Any: "any"}


def fields_table(kind: type, without: tuple[str, ...] = ()) -> str:
    hints, meanings = get_type_hints(kind), _meanings(kind)
    names = [field.name for field in dataclasses.fields(kind) if field.name not in without]
    return table(("field", "type", "meaning"), [(code(name), _type(hints[name]), meanings[name]) for name in names])


def with_parts(kind: type) -> list[type]:
    """The dataclass, and those that its fields hold, each once."""
    found = [kind]
    for one in found:
        hints = get_type_hints(one)
        held = [part for field in dataclasses.fields(one) for part in _dataclasses(hints[field.name])]
        found += [part for part in dict.fromkeys(held) if part not in found]
    return found


def _dataclasses(annotation: Any) -> Iterator[type]:
    if isinstance(annotation, type) and dataclasses.is_dataclass(annotation):
        yield annotation
    for part in get_args(annotation):
        yield from _dataclasses(part)


def _type(annotation: Any) -> str:
    """In the words of JSON."""
    origin, args = get_origin(annotation), get_args(annotation)
    if annotation in _TYPES:
        return _TYPES[annotation]
    if isinstance(annotation, type) and dataclasses.is_dataclass(annotation):
        return annotation.__name__
    if origin is Literal:
        return " or ".join(code(str(value)) for value in args)
    if origin in (Union, types.UnionType):
        return " or ".join(map(_type, args))
    if origin in (dict, Mapping):
        return f"object of {_type(args[1])}"
    if origin in (list, tuple) and (origin is list or args[-1] is ...):
        return f"list of {_type(args[0])}"
    assert origin is tuple, f"no words for {annotation}"
    return f"[{', '.join(map(_type, args))}]"


def _meanings(kind: type) -> dict[str, str]:
    """Ours, or the comment above the field in its source."""
    comments = _comments(kind)
    ours = MEANINGS.get(kind.__name__, {})
    found = {field.name: ours.get(field.name) or comments[field.name] for field in dataclasses.fields(kind)}
    missing = [name for name, meaning in found.items() if not meaning] + sorted(ours.keys() - found.keys())
    assert not missing, f"describe {missing} of {kind.__name__} in tools/reference/meanings/"
    return found


def _comments(kind: type) -> dict[str, str]:
    found: dict[str, str] = {}
    above: list[str] = []
    for line in inspect.getsource(kind).splitlines():
        if line.strip().startswith("#"):
            above.append(line.strip().removeprefix("#").strip())
            continue
        if match := _FIELD.match(line):
            found[match[1]] = escaped(" ".join(above)).replace("None", "null")
        above = []
    return found
