"""An operation that did not finish. Until it is resumed or taken back, nothing may go on with what lies behind its fence."""

from __future__ import annotations

from pathlib import Path

from anabranch.core.checkpoint_log import FENCE
from anabranch.core.errors import Refused
from anabranch.operate.shifting import under_way
from anabranch.world.checkpoints import Checkpoint
from anabranch.world.storage import DirectoryStorage

# A fence is one short line; an entry of the log may be large, and is none.
_FENCE_BYTES = 64 << 10


def fenced_by(checkpoint: Path) -> str | None:
    """The operation whose fence stands there: what the checkpoint holds is neither what was nor what will be."""
    storage = DirectoryStorage(checkpoint)
    planned = Checkpoint(checkpoint).planned_batches()
    newest = storage.read(f"offsets/{planned[-1]}", _FENCE_BYTES) if planned else None
    if newest is None or not newest.startswith(FENCE.encode()):
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
