"""The way back from a rewind, as a plan of its own: the same files, the other way round, and the sink's opposite."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from anabranch.checkpoint.checkpoint import Inventory
from anabranch.errors import Refused
from anabranch.operations.change import Shift, fingerprint, opposite, shift_from_json
from anabranch.rewind.plan import RewindPlan


@dataclass(frozen=True)
class UndoPlan:
    shift: Shift
    # The rewind that is undone.
    of: str
    checkpoint: str
    pipeline: str | None
    # What the rewind took back: from this batch to that.
    batch: int
    newest: int


def plan_undo(rewind: RewindPlan, inventory: Inventory, operation: str) -> UndoPlan:
    """Refuses once the query has run again: its batches would be lost."""
    if lost := list(_lost(rewind, inventory)):
        raise Refused(
            f"{rewind.shift.operation} cannot be undone, the query has run since: {'; '.join(lost)}.",
            "what was set aside stays under " + rewind.shift.aside,
        )
    done = rewind.shift
    return UndoPlan(
        shift=replace(done, operation=operation, is_back=True, sink=opposite(done.sink), before=done.after, after=done.before),
        of=done.operation,
        checkpoint=rewind.checkpoint,
        pipeline=rewind.pipeline,
        batch=rewind.batch,
        newest=rewind.newest,
    )


def _lost(rewind: RewindPlan, inventory: Inventory) -> Iterator[str]:
    """What an undo would lose, in words."""
    last = rewind.batch if rewind.mode == "replay" else rewind.batch - 1
    newest = -1 if inventory.newest is None else inventory.newest
    committed = -1 if inventory.commits.newest is None else inventory.commits.newest
    if committed >= rewind.batch:
        which = f"batch {committed}" if committed == rewind.batch else f"batches {rewind.batch} to {committed}"
        yield f"{which} ran again and would be lost"
    elif newest > last:
        yield f"batch {newest} was planned again"
    elif fingerprint(inventory.listing) != rewind.shift.after:
        yield "files of the checkpoint came or went"


def undo_from_json(record: Mapping[str, Any]) -> UndoPlan:
    fields = {name: value for name, value in record.items() if name in UndoPlan.__dataclass_fields__}
    return UndoPlan(**{**fields, "shift": shift_from_json(record["shift"])})
