"""Values as records, to be written as JSON."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any


def as_record(value: Any) -> Any:
    """As `dataclasses.asdict`, but lists are taken as they are: a plan may name 40,000 files."""
    if is_dataclass(value):
        return {field.name: as_record(getattr(value, field.name)) for field in fields(value)}
    return value
