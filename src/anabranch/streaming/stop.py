"""How one terminal asks a run in another to end: a file beside the checkpoint, which the run looks for."""

from __future__ import annotations

from pathlib import Path


def _path(checkpoint: Path) -> Path:
    return checkpoint.with_name(f"{checkpoint.name}.stop")


def ask_stop(checkpoint: Path) -> None:
    _path(checkpoint).touch()


def is_stop_asked(checkpoint: Path) -> bool:
    return _path(checkpoint).exists()


def withdraw_stop(checkpoint: Path) -> None:
    _path(checkpoint).unlink(missing_ok=True)
