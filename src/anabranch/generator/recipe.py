"""What to generate: a frozen recipe, validated once. The same recipe gives the same records, byte for byte.

Pure: it uses no clock, no file and no broker.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, get_args

from anabranch.generator.messages import (
    SEED_NEGATIVE,
    SHARE_MALFORMED,
    SHARE_NOT_PERCENT,
    SHARE_OUT_OF_RANGE,
    SHARES_EXCEED_ONE,
    SPACING_OUT_OF_RANGE,
    START_OUT_OF_RANGE,
    START_WITHOUT_ZONE,
    VISITORS_OUT_OF_RANGE,
)

RecordKind = Literal["good", "late", "out-of-order", "duplicate", "bad", "future"]
KINDS: tuple[RecordKind, ...] = get_args(RecordKind)

# Fixed, not the current time: `--seed 7` alone must give the same bytes tomorrow. The examples in the docs use this morning.
DEFAULT_START = datetime(2025, 9, 4, 7, tzinfo=UTC)
# A visit event is in the years 1970 to 9998: no late record may be before them, and no future one after them.
EARLIEST_START = datetime(1970, 1, 2, tzinfo=UTC)
LATEST_START = datetime(9700, 1, 1, tzinfo=UTC)
# Each open visit takes about 1 kB of memory. More visitors would only spread the visits out.
MAX_VISITORS = 100_000
# Shares such as 0.1 + 0.2 + 0.7 may add up to slightly more than 1.
_ROUNDING = 1e-9
_SHARE = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*(%?)", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    seed: int = 0
    # The event clock at the first record.
    start: datetime = DEFAULT_START
    # Event time between two records. At 0.1 s and 600 visitors, each visitor opens one page a minute.
    spacing_s: float = 0.1
    # Visits that are open at the same time.
    visitors: int = 600
    late: float = 0.0
    out_of_order: float = 0.0
    duplicate: float = 0.0
    bad: float = 0.0
    future: float = 0.0

    def __post_init__(self) -> None:
        if self.seed < 0:  # random.Random treats -7 as 7: two seeds would give the same records
            raise SEED_NEGATIVE(seed=self.seed)
        if self.start.tzinfo is None:
            raise START_WITHOUT_ZONE(start=self.start.isoformat())
        if not EARLIEST_START <= self.start < LATEST_START:
            raise START_OUT_OF_RANGE(start=self.start.isoformat())
        if not 1e-6 <= self.spacing_s <= 86_400:
            raise SPACING_OUT_OF_RANGE(spacing=str(self.spacing_s))
        if not 1 <= self.visitors <= MAX_VISITORS:
            raise VISITORS_OUT_OF_RANGE(visitors=self.visitors, most=MAX_VISITORS)
        self._check_shares()

    def _check_shares(self) -> None:
        for kind, share in self.shares().items():
            if not 0 <= share <= 1:
                raise SHARE_OUT_OF_RANGE(kind=kind, share=str(share))
        if (total := math.fsum(self.shares().values())) > 1 + _ROUNDING:
            raise SHARES_EXCEED_ONE(total=total)

    def shares(self) -> dict[RecordKind, float]:
        """The share of each kind; the other records are good."""
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
        is_percentage = match and not match[2] and share <= 100
        raise SHARE_NOT_PERCENT(text=text.strip()) if is_percentage else SHARE_MALFORMED(text=text)
    return share
