"""How a running pipeline is doing at a moment. A value: each UI renders it in its own way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
    note: str = ""

    def describe(self) -> str:
        parts = [f"{self.name}: {self.state}"]
        if self.note:
            parts.append(self.note)
        if self.batch is not None:
            parts.append(f"batch {self.batch}")
            parts.append(f"{self.rows:,} rows ({self.rows_per_s:,.0f}/s)")
        if self.problems:
            parts.append(f"{self.problems:,} with problems")
        if self.lag is not None:
            parts.append(f"lag {self.lag:,}")
        if self.watermark:
            parts.append(f"watermark {self.watermark}")
        return " · ".join(parts)
