"""What the generator raises: recipes, paces and ledgers that cannot be used."""

from __future__ import annotations

from anabranch.errors import failure, misuse

# The recipe. A number that may be infinite or NaN is passed as text, which JSON can hold.

SEED_NEGATIVE = misuse("seed-negative", "seed {seed} is negative", "use a seed of 0 or more")
START_WITHOUT_ZONE = misuse(
    "start-without-zone", "start time {start} has no time zone", "write it with one: 2025-09-04T07:00:00Z"
)
START_OUT_OF_RANGE = misuse("start-out-of-range", "start time {start} is out of range", "use a time in the years 1971 to 9699")
SPACING_OUT_OF_RANGE = misuse(
    "spacing-out-of-range", "a spacing of {spacing} s between records is out of range", "use 1 microsecond to 1 day"
)
VISITORS_OUT_OF_RANGE = misuse("visitors-out-of-range", "{visitors} visitors at once is out of range", "use 1 to {most:,}")
SHARE_OUT_OF_RANGE = misuse("share-out-of-range", "the share of {kind} records is {share}", "use 0 to 1, or 0% to 100%")
SHARES_EXCEED_ONE = misuse(
    "shares-exceed-one", "the shares add up to {total:.4g}, which is more than 1", "reduce them to a sum of at most 1 (100%)"
)
SHARE_MALFORMED = misuse("share-malformed", "{text!r} is not a share between 0 and 1", "write it like 5% or 0.05")
SHARE_NOT_PERCENT = misuse(
    "share-not-percent", "{text!r} is not a share between 0 and 1", "write {text}% if you mean a percentage"
)

# The pace

RATE_NOT_POSITIVE = misuse("rate-not-positive", "a rate of {rate} records a second is not positive", "use a rate above 0")
COUNT_NEGATIVE = misuse("count-negative", "a count of {count} records is negative", "use a count of 0 or more")
SENDING_TIME_INVALID = misuse(
    "sending-time-invalid", "{duration} s is not a time to send for", "use a duration such as 30s or 5m"
)

# The ledger

LEDGER_NOT_WRITABLE = failure(
    "ledger-not-writable",
    "cannot write the ledger {path}: {reason}",
    "free disk space or fix the permissions, or pass another --ledger",
)
LEDGER_FOREIGN_FILE = misuse(
    "ledger-foreign-file",
    "{path} exists and is not a ledger",
    "pass another --ledger, or move that file away",
)
