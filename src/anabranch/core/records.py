"""Values as records, to be written as JSON."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any


def as_record(value: Any) -> Any:
    """As `dataclasses.asdict`, without a copy of every list: a plan may name 40,000 files."""
    if is_dataclass(value):
        return {field.name: as_record(getattr(value, field.name)) for field in fields(value)}
    return value
