"""The time of an event, read from a record's value as the decoder would, for the record's own timestamp."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from anabranch.pipeline.topic import Topic


def event_time_of(value: Mapping[str, Any], topic: Topic, timezone: str) -> datetime | None:
    """None: it has none that can be read."""
    found = next((value[key] for key in topic.spellings(topic.event_time) if value.get(key) is not None), None)
    try:
        time = datetime.fromisoformat(found) if isinstance(found, str) else found
        if not isinstance(time, datetime):
            return None
        return (time if time.tzinfo else time.replace(tzinfo=ZoneInfo(timezone))).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
