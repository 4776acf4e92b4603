"""Times as people write them and as logs store them. UTC unless a zone is given."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from anabranch.text.messages import TIME_MALFORMED, TIME_NONEXISTENT


def iso_utc(epoch_ms: int) -> str:
    moment = datetime.fromtimestamp(epoch_ms / 1000, UTC)
    return moment.isoformat(timespec="milliseconds" if epoch_ms % 1000 else "seconds").replace("+00:00", "Z")


def parse_instant(text: str, zone: str) -> datetime:
    """An ISO-8601 time. `zone` applies if the text names no zone."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise TIME_MALFORMED(text=text) from None
    if moment.tzinfo:
        return moment
    local = moment.replace(tzinfo=ZoneInfo(zone))
    # A time in a daylight-saving gap comes back from UTC as another one.
    if local.astimezone(UTC).astimezone(local.tzinfo).replace(tzinfo=None) != moment:
        raise TIME_NONEXISTENT(text=text, zone=zone)
    return local
