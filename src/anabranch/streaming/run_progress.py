"""How a running pipeline is doing at a moment. A value: each UI renders it in its own way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from anabranch.errors import Reason
from anabranch.streaming import messages

State = Literal["starting", "running", "waiting", "stopping", "stopped", "failed"]


@dataclass(frozen=True)
class RunProgress:
    name: str
    state: State = "starting"
    batch: int | None = None
    rows: int = 0
    problems: int = 0
    rows_per_s: float = 0.0
    lag: int | None = None
    watermark: str | None = None
    # Dropped by the watermark, and whether that is exact.
    late: int = 0
    late_is_exact: bool = True
    # The watermark's newest jump.
    jump: Reason | None = None
    note: str = ""

    @property
    def is_all_late(self) -> bool:
        """Nothing that the run has read was counted."""
        return self.late > 0 and self.late >= self.rows - self.problems

    @property
    def is_alarming(self) -> bool:
        return self.is_all_late or self.jump is not None

    def describe(self) -> str:
        parts = [f"{self.name}: {self.state}"]
        if self.note:
            parts.append(self.note)
        if self.jump is not None:
            parts.append(self.jump.text)
        if self.is_all_late:
            parts.append(messages.ALL_LATE().text)
        if self.batch is not None:
            parts.append(f"batch {self.batch}")
            parts.append(f"{self.rows:,} rows ({self.rows_per_s:,.0f}/s)")
        if self.late:
            parts.append((messages.LATE if self.late_is_exact else messages.LATE_ABOUT)(late=self.late).text)
        if self.problems:
            parts.append(f"{self.problems:,} with problems")
        if self.lag is not None:
            parts.append(f"lag {self.lag:,}")
        if self.watermark:
            parts.append(f"watermark {self.watermark}")
        return " · ".join(parts)
