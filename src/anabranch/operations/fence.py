"""An operation that did not finish. Until it is resumed or taken back, nothing may go on with what lies behind its fence."""

from __future__ import annotations

import json
from pathlib import Path

from anabranch.checkpoint.log_reader import Checkpoint
from anabranch.checkpoint.logs import FENCE
from anabranch.errors import Refused
from anabranch.operations.change import JOURNAL
from anabranch.storage.local import DirectoryStorage, Storage

UNREADABLE = "an operation whose journal cannot be read"
_MOST_JOURNAL_BYTES = 1 << 30
# A fence is one short line; an entry of the log may be large, and is none.
_FENCE_BYTES = 64 << 10


def under_way(storage: Storage) -> str | None:
    """The id of the operation whose journal is open."""
    content = storage.read(JOURNAL, _MOST_JOURNAL_BYTES)
    if content is None:
        return None
    try:
        return str(json.loads(content)["change"]["operation"])
    except (ValueError, KeyError, TypeError):
        return UNREADABLE


def is_fence(storage: Storage, path: str) -> bool:
    content = storage.read(path, _FENCE_BYTES)
    return content is not None and content.startswith(FENCE.encode())


def fenced_by(checkpoint: Path) -> str | None:
    """The operation whose fence stands there: what the checkpoint holds is neither what was nor what will be."""
    storage = DirectoryStorage(checkpoint)
    planned = Checkpoint(checkpoint).planned_batches()
    if not planned or not is_fence(storage, f"offsets/{planned[-1]}"):
        return None
    return under_way(storage) or "an operation"


def check_not_fenced(checkpoint: Path, what_cannot: str) -> None:
    if (operation := fenced_by(checkpoint)) is not None:
        raise refusal(operation, what_cannot)


def refusal(operation: str, what_cannot: str) -> Refused:
    return Refused(
        f"{what_cannot}: {operation} is not finished.",
        f"anabranch resume {operation}   finishes it",
        f"anabranch undo {operation}   takes it back",
    )
