"""JSON text from Python values: decimals keep their digits, times their microseconds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from anabranch.text import messages


def json_text(value: Any) -> str:
    match value:
        case None | bool() | int() | float() | str():
            return json.dumps(value, ensure_ascii=False)
        case Decimal():
            return format(value, "f")
        case datetime():
            return json.dumps(value.isoformat())
        case date():
            return json.dumps(value.isoformat())
        case Mapping():
            return "{" + ", ".join(f"{json.dumps(str(key))}: {json_text(one)}" for key, one in value.items()) + "}"
        case Sequence() if not isinstance(value, bytes | bytearray):
            return "[" + ", ".join(json_text(one) for one in value) + "]"
    raise messages.NOT_JSON(type=type(value).__name__)
