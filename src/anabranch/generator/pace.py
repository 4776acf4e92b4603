"""When to send: a rate, an end, and the future guard, as one frozen value. Pure: it is told how late it is.

An event later than its record's own Kafka timestamp plus a tolerance is a problem in every pipeline, so the event clock
is not let run past that guard unless asked to: the same records, only later. Records made to lie in the future
are told apart by their kind; it is the clock that waits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from anabranch.errors import Misused

# Of pipelines too (product.md, 2).
FUTURE_TOLERANCE_S = 3600.0
# A record's timestamp has whole milliseconds, and a machine's clock is set back by parts of a second now and then.
_GUARD_MARGIN_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    # None: as fast as the broker takes them.
    rate_per_s: float | None = None
    # Records of all kinds. None: without end.
    count: int | None = None
    duration_s: float | None = None
    allow_future: bool = False
    future_tolerance_s: float = FUTURE_TOLERANCE_S

    def __post_init__(self) -> None:
        if self.rate_per_s is not None and not 0 < self.rate_per_s < math.inf:
            raise Misused(f"a rate of {self.rate_per_s} a second sends nothing.", "take a rate above 0")
        if self.count is not None and self.count < 0:
            raise Misused(f"{self.count} records cannot be sent.", "take a count of 0 or more")
        if self.duration_s is not None and not 0 <= self.duration_s < math.inf:
            raise Misused(f"{self.duration_s} s is no time to send for.", "take a duration such as 30s or 5m")

    def due(self, sent: int, elapsed_s: float) -> int | None:
        """How many records may go now; None when all is over."""
        if self.duration_s is not None and elapsed_s >= self.duration_s:
            return None
        left = math.inf if self.count is None else self.count - sent
        if left <= 0:
            return None
        # By the schedule, not by the last record: what a slow moment held up is made good. The first one goes at once.
        scheduled = math.inf if self.rate_per_s is None else 1 + int(elapsed_s * self.rate_per_s) - sent
        return max(0, int(min(left, scheduled, _BURST)))

    def next_due_s(self, sent: int, elapsed_s: float) -> float:
        """How long until the next record is due by the rate."""
        return 0.0 if self.rate_per_s is None else max(0.0, sent / self.rate_per_s - elapsed_s)

    def guard_us(self, now_s: float) -> float:
        """How far the event clock may go now."""
        return math.inf if self.allow_future else (now_s + self.future_tolerance_s - _GUARD_MARGIN_S) * 1e6


# Records between two looks at the clock and at acknowledgements: some milliseconds' worth at full speed.
_BURST = 1000
