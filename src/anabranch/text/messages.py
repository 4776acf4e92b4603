"""What text raises: written values that cannot be parsed."""

from __future__ import annotations

from anabranch.errors import misuse, refusal

DURATION_MALFORMED = misuse(
    "duration-malformed",
    "{text!r} is not a duration",
    "write it with its unit: 500ms, 20s, 10m, 1h30m, 2 days",
)
TIME_MALFORMED = misuse(
    "time-malformed",
    "{text!r} is not a time",
    "write it like 2025-09-04T07:00 or 2025-09-04T07:00:00Z",
)
TIME_NONEXISTENT = refusal(
    "time-nonexistent",
    "{text} does not exist in {zone}: the clock was set forward past it",
    "choose a time before or after the gap",
)
