"""The opposite of a rewind, as a plan of its own: the same files the other way round, and the sink's opposite."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from anabranch.checkpoint.checkpoint import Checkpoint
from anabranch.errors import Reason
from anabranch.operations.change import CheckpointChange, fingerprint
from anabranch.rewind import messages
from anabranch.rewind.plan import RewindPlan


@dataclass(frozen=True)
class UndoPlan:
    change: CheckpointChange
    # The rewind that is undone.
    of: str
    checkpoint: str
    pipeline: str | None
    # What the rewind took back: from this batch to that.
    batch: int
    newest: int


def plan_undo(rewind: RewindPlan, checkpoint: Checkpoint, operation: str) -> UndoPlan:
    """Refuses once the query has run again: its batches would be lost."""
    if why := list(_lost(rewind, checkpoint)):
        raise messages.RAN_AGAIN(operation=rewind.change.operation, why=why, aside=rewind.change.aside)
    done = rewind.change
    return UndoPlan(
        change=replace(done, operation=operation, is_back=True, sink=done.sink.opposite, before=done.after, after=done.before),
        of=done.operation,
        checkpoint=rewind.checkpoint,
        pipeline=rewind.pipeline,
        batch=rewind.batch,
        newest=rewind.newest,
    )


def _lost(rewind: RewindPlan, checkpoint: Checkpoint) -> Iterator[Reason]:
    """What an undo would lose."""
    last = rewind.batch if rewind.mode == "replay" else rewind.batch - 1
    newest = -1 if checkpoint.newest is None else checkpoint.newest
    committed = -1 if checkpoint.commits.newest is None else checkpoint.commits.newest
    if committed >= rewind.batch:
        yield messages.WOULD_BE_LOST(first=rewind.batch, last=committed)
    elif newest > last:
        yield messages.PLANNED_AGAIN(batch=newest)
    elif fingerprint(checkpoint.listing) != rewind.change.after:
        yield messages.FILES_CHANGED()
