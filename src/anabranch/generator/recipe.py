"""What to make: a frozen recipe, checked once. The same recipe gives the same records, byte for byte.

Pure: it knows no clock, no file and no broker.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, get_args

from anabranch.errors import Misused

Kind = Literal["good", "late", "out-of-order", "duplicate", "bad", "future"]
KINDS: tuple[Kind, ...] = get_args(Kind)

# Fixed, not now: `--seed 7` alone must give the same bytes tomorrow. It is the morning that the seeds show.
DEFAULT_START = datetime(2025, 9, 4, 7, tzinfo=UTC)
# A visit event is of the years 1970 to 9998: a late record must not fall before them, nor a future one behind.
EARLIEST_START = datetime(1970, 1, 2, tzinfo=UTC)
LATEST_START = datetime(9700, 1, 1, tzinfo=UTC)
# Each holds a visit in memory, about 1 kB; more would only thin out the visits.
MAX_VISITORS = 100_000
# Shares such as 0.1 + 0.2 + 0.7 may add up to a hair over 1.
_ROUNDING = 1e-9
_SHARE = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*(%?)", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    seed: int = 0
    # Where the event clock stands at the first record.
    start: datetime = DEFAULT_START
    # Event time between two records. At 0.1 s with 600 visitors, a visitor opens a page a minute.
    spacing_s: float = 0.1
    # Visits that are open at once.
    visitors: int = 600
    late: float = 0.0
    out_of_order: float = 0.0
    duplicate: float = 0.0
    bad: float = 0.0
    future: float = 0.0

    def __post_init__(self) -> None:
        if self.seed < 0:  # random.Random takes -7 for 7: two seeds, one result
            raise Misused(f"the seed {self.seed} is negative.", "take 0 or a number above")
        if self.start.tzinfo is None:
            raise Misused(f"the start {self.start.isoformat()} has no time zone.", "write it with one: 2025-09-04T07:00:00Z")
        if not EARLIEST_START <= self.start < LATEST_START:
            raise Misused(f"the start {self.start.isoformat()} leaves no room.", "take one of the years 1971 to 9699")
        if not 1e-6 <= self.spacing_s <= 86_400:
            raise Misused(f"{self.spacing_s} s between two records cannot be done.", "take 1 microsecond to 1 day")
        if not 1 <= self.visitors <= MAX_VISITORS:
            raise Misused(f"{self.visitors} visitors at once cannot be done.", f"take 1 to {MAX_VISITORS}")
        self._check_shares()

    def _check_shares(self) -> None:
        for kind, share in self.shares().items():
            if not 0 <= share <= 1:
                raise Misused(f"the share of {kind} records is {share}.", "take 0 to 1, or 0% to 100%")
        if (total := math.fsum(self.shares().values())) > 1 + _ROUNDING:
            raise Misused(f"the shares add up to {total:.4g}, more than all records.", "make their sum 1 (100%) at most")

    def shares(self) -> dict[Kind, float]:
        """The share of each kind; the rest is good."""
        return {
            "late": self.late,
            "out-of-order": self.out_of_order,
            "duplicate": self.duplicate,
            "bad": self.bad,
            "future": self.future,
        }


def parse_share(text: str) -> float:
    """A share as people write it: `5%` and `0.05` are the same."""
    match = _SHARE.fullmatch(text.strip())
    share = float(match[1]) / (100 if match[2] else 1) if match else math.nan
    if not 0 <= share <= 1:
        hint = f"write {text.strip()}% if you mean that" if match and not match[2] and share <= 100 else "write 5% or 0.05"
        raise Misused(f"{text!r} is not a share between 0 and 1.", hint)
    return share
