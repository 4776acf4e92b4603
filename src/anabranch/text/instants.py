"""Moments as people write them and as logs keep them. Times in, times out: UTC unless a zone is given."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from anabranch.errors import Misused, Refused


def iso_utc(epoch_ms: int) -> str:
    moment = datetime.fromtimestamp(epoch_ms / 1000, UTC)
    return moment.isoformat(timespec="milliseconds" if epoch_ms % 1000 else "seconds").replace("+00:00", "Z")


def parse_instant(text: str, zone: str) -> datetime:
    """An ISO-8601 moment; without a zone of its own it is in `zone`."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise Misused(f"{text!r} is not a time.", "write it like 2025-09-04T07:00 or 2025-09-04T07:00:00Z") from None
    if moment.tzinfo:
        return moment
    local = moment.replace(tzinfo=ZoneInfo(zone))
    if local.astimezone(UTC).astimezone(local.tzinfo).replace(tzinfo=None) != moment:
        raise Refused(f"{text} does not exist in {zone}: the clock was put forward over it.", "take a time after the gap")
    return local
