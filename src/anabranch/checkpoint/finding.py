"""A finding: something about a checkpoint that a person should know before trusting it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from anabranch.errors import Reason


@dataclass(frozen=True)
class Finding:
    # Relative to the checkpoint.
    file: str
    reason: Reason

    @property
    def code(self) -> str:
        return self.reason.code

    @property
    def remedy(self) -> str:
        return "; ".join(self.reason.remedies)

    def as_json(self) -> dict[str, Any]:
        about = self.reason.as_json()
        return {"code": self.code, "file": self.file, "what": about["text"], "remedy": self.remedy, "params": about["params"]}
