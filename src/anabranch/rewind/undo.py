"""The way back from a rewind, as a plan of its own: the same files, the other way round, and the sink's opposite."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from anabranch.checkpoint.checkpoint import Checkpoint
from anabranch.errors import Refused
from anabranch.operations.change import CheckpointChange, change_from_json, fingerprint, opposite
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
    if lost := list(_lost(rewind, checkpoint)):
        raise Refused(
            f"{rewind.change.operation} cannot be undone, the query has run since: {'; '.join(lost)}.",
            "what was set aside stays under " + rewind.change.aside,
        )
    done = rewind.change
    return UndoPlan(
        change=replace(done, operation=operation, is_back=True, sink=opposite(done.sink), before=done.after, after=done.before),
        of=done.operation,
        checkpoint=rewind.checkpoint,
        pipeline=rewind.pipeline,
        batch=rewind.batch,
        newest=rewind.newest,
    )


def _lost(rewind: RewindPlan, checkpoint: Checkpoint) -> Iterator[str]:
    """What an undo would lose, in words."""
    last = rewind.batch if rewind.mode == "replay" else rewind.batch - 1
    newest = -1 if checkpoint.newest is None else checkpoint.newest
    committed = -1 if checkpoint.commits.newest is None else checkpoint.commits.newest
    if committed >= rewind.batch:
        which = f"batch {committed}" if committed == rewind.batch else f"batches {rewind.batch} to {committed}"
        yield f"{which} ran again and would be lost"
    elif newest > last:
        yield f"batch {newest} was planned again"
    elif fingerprint(checkpoint.listing) != rewind.change.after:
        yield "files of the checkpoint came or went"


def undo_from_json(record: Mapping[str, Any]) -> UndoPlan:
    fields = {name: value for name, value in record.items() if name in UndoPlan.__dataclass_fields__}
    return UndoPlan(**{**fields, "change": change_from_json(record["change"])})
