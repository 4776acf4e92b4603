"""What the lake tells of its records without decoding them: values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class BinCount:
    """The records of one partition in one bin of event time."""

    # Counted from the epoch. None: records without a usable time.
    bin: int | None
    partition: int
    usable: int
    problems: int
    # The greatest offset of a usable one. None: there is none.
    last: int | None
    # Of the usable ones: the sum of their times in microseconds, each modulo CHECK_MODULUS. None: there is none.
    check: int | None


@dataclass(frozen=True)
class StoredRecord:
    """A usable record."""

    partition: int
    offset: int
    event_us: int
    record_time: datetime


@dataclass(frozen=True)
class Cutoff:
    """The records of a bin and a partition from one offset on."""

    bin: int
    partition: int
    offset: int


@dataclass(frozen=True)
class Newest:
    """Of one partition: its last offset, the newest arrival, and the greatest event time."""

    partition: int
    offset: int
    record_time: datetime
    event_us: int | None


# A prime, so that sums of times differ where times do, and small, so that they overflow nothing.
CHECK_MODULUS = 1_000_003
