"""Where a checkpoint is, and everything that is kept beside it. Nothing else builds such a path."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from anabranch.storage.base import Storage
from anabranch.storage.local import LocalStorage


@dataclass(frozen=True)
class CheckpointLocation:
    path: Path

    def storage(self) -> Storage:
        return LocalStorage(self.path)

    @property
    def lease(self) -> Path:
        return self.beside("lease")

    @property
    def lease_lock(self) -> Path:
        return self.beside("lease.lock")

    @property
    def baseline(self) -> Path:
        return self.beside("baseline.json")

    @property
    def history(self) -> Path:
        return self.beside("history.jsonl")

    @property
    def stop_request(self) -> Path:
        return self.beside("stop")

    @property
    def operation_lock(self) -> Path:
        """Of a checkpoint that is not ours, whose query knows no lease."""
        return self.path / "_rewind" / "lock"

    def others(self) -> list[CheckpointLocation]:
        """The directories beside it: the same pipeline's checkpoints for other sinks."""
        around = self.path.parent
        beside = sorted(path for path in around.iterdir() if path.is_dir() and path != self.path) if around.is_dir() else []
        return [CheckpointLocation(path) for path in beside]

    def below(self) -> list[CheckpointLocation]:
        """The directories in it."""
        return [CheckpointLocation(path) for path in sorted(self.path.iterdir()) if path.is_dir()]

    def beside(self, suffix: str) -> Path:
        return self.path.with_name(f"{self.path.name}.{suffix}")

    def __str__(self) -> str:
        return str(self.path)
