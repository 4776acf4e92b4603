"""When to send: a rate, an end, and the future guard, as one frozen value. Pure: the caller passes the time.

Every pipeline reports an event as a problem if its time is later than its record's Kafka timestamp plus a tolerance. So the
event clock waits at that limit, the future guard, unless --allow-future is given; the records stay the same. The guard
compares the event clock, not the event time: records of the kind "future" are meant to exceed it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from anabranch.generator.messages import COUNT_NEGATIVE, RATE_NOT_POSITIVE, SENDING_TIME_INVALID

# The default future_tolerance of every pipeline.
FUTURE_TOLERANCE_S = 3600.0
# A record's timestamp is rounded to milliseconds, and a machine's clock is occasionally set back by a fraction of a second.
_GUARD_MARGIN_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    # None: as fast as the broker accepts them.
    rate_per_s: float | None = None
    # Records of all kinds. None: unlimited.
    count: int | None = None
    duration_s: float | None = None
    allow_future: bool = False
    future_tolerance_s: float = FUTURE_TOLERANCE_S

    def __post_init__(self) -> None:
        if self.rate_per_s is not None and not 0 < self.rate_per_s < math.inf:
            raise RATE_NOT_POSITIVE(rate=str(self.rate_per_s))
        if self.count is not None and self.count < 0:
            raise COUNT_NEGATIVE(count=self.count)
        if self.duration_s is not None and not 0 <= self.duration_s < math.inf:
            raise SENDING_TIME_INVALID(duration=str(self.duration_s))

    def due(self, sent: int, elapsed_s: float) -> int | None:
        """How many records may be sent now; None if sending is over."""
        if self.duration_s is not None and elapsed_s >= self.duration_s:
            return None
        left = math.inf if self.count is None else self.count - sent
        if left <= 0:
            return None
        # Counted from the start, not from the last record: delays are caught up. The first record is sent at once.
        scheduled = math.inf if self.rate_per_s is None else 1 + int(elapsed_s * self.rate_per_s) - sent
        return max(0, int(min(left, scheduled, _BURST)))

    def next_due_s(self, sent: int, elapsed_s: float) -> float:
        """How long until the rate allows the next record."""
        return 0.0 if self.rate_per_s is None else max(0.0, sent / self.rate_per_s - elapsed_s)

    def guard_us(self, now_s: float) -> float:
        """The latest event time that the event clock may reach now."""
        return math.inf if self.allow_future else (now_s + self.future_tolerance_s - _GUARD_MARGIN_S) * 1e6


# Records between two checks of the clock and of acknowledgements: a few milliseconds at full speed.
_BURST = 1000
