"""What text raises: written values that cannot be parsed."""

from __future__ import annotations

from anabranch.errors import misuse, refusal

DURATION_MALFORMED = misuse(
    "duration-malformed",
    "{text!r} is not a duration",
    "write it with its unit: 500ms, 20s, 10m, 1h30m, 2 days",
)
DURATION_TOO_LONG = misuse("duration-too-long", "{text!r} is longer than 100 years", "write a shorter one: 20s, 10m, 2 days")
DURATION_TOO_FINE = misuse(
    "duration-too-fine", "{text!r} is not a whole number of milliseconds", "round it: Spark takes none that is finer than 1ms"
)
TOPIC_NAME_ILLEGAL = misuse(
    "topic-name-illegal",
    "{name!r} cannot be the name of a topic",
    "use 1 to 249 letters, digits, dots, dashes or underscores",
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
NOT_JSON = misuse(
    "not-json",
    "a value of type {type} cannot be written as JSON",
    "give text, numbers, Decimal, datetime, date, lists and dicts; or the whole record as text or bytes",
)
