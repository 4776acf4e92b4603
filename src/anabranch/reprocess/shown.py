"""A result in a few words, for a line of a plan or a cell of a table. Pure."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any


def short_value(value: str, key: str) -> str:
    """What it tells besides its window and its key: the number alone, where there is one; else each field by its name."""
    fields, own = _fields(value), _fields(key)
    if not fields:
        return value
    rest = {name: one for name, one in fields.items() if name != "window" and name not in own}
    numbers = [one for one in rest.values() if isinstance(one, int | Decimal) and not isinstance(one, bool)]
    if len(numbers) == 1:
        return f"{numbers[0]:,}"
    return ", ".join(f"{name} {_text(one)}" for name, one in rest.items()) or value


def short_key(key: str, *, with_window: bool) -> str:
    fields = _fields(key)
    if not fields:
        return key
    return ", ".join(_text(one) for name, one in fields.items() if with_window or name != "window_start")


def _fields(text: str) -> dict[str, Any]:
    """Of a JSON object; none of anything else. Decimals as they are written."""
    try:
        found = json.loads(text, parse_float=Decimal)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _text(one: Any) -> str:
    if isinstance(one, dict | list | bool) or one is None:
        return json.dumps(one, ensure_ascii=False, default=str)
    return str(one)
