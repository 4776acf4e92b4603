"""What `check` finds: the pipeline, the place in its file, a code, and the remedy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from anabranch.errors import Reason
from anabranch.pipeline.topic import Place

# A warning does not change the exit code.
Level = Literal["finding", "warning"]


@dataclass(frozen=True)
class Finding:
    pipeline: str
    # Where in the user's file; None: of ours.
    place: Place | None
    reason: Reason
    level: Level = "finding"

    @property
    def code(self) -> str:
        return self.reason.code

    def as_json(self) -> dict[str, Any]:
        return {
            "pipeline": self.pipeline,
            "level": self.level,
            "file": self.place.file if self.place else None,
            "line": self.place.line if self.place else None,
            "remedies": list(self.reason.remedies),
            **self.reason.as_json(),
        }
