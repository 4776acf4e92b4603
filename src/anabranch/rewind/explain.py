"""The plan of a rewind and of an undo in words: the same lines for every UI, made from the plan alone."""

from __future__ import annotations

from collections.abc import Iterator

from anabranch.errors import counted
from anabranch.operations.change import CheckpointChange
from anabranch.operations.receipt import Check
from anabranch.rewind.plan import RewindPlan
from anabranch.rewind.undo import UndoPlan
from anabranch.text.format import human_bytes, instant

_MOST_PARTITIONS = 8


def explain(plan: RewindPlan | UndoPlan) -> Iterator[str]:
    return explain_rewind(plan) if isinstance(plan, RewindPlan) else explain_undo(plan)


def explain_rewind(plan: RewindPlan) -> Iterator[str]:
    name = plan.pipeline or "a checkpoint that is not of this project"
    yield f"Rewind {name} to batch {plan.batch} ({_mode(plan)})   {plan.change.operation}"
    yield f"  checkpoint  {plan.checkpoint}"
    yield f"  batches     {_span(plan.batch, plan.newest)} of {plan.newest} taken back: they run again"
    yield f"  watermark   {_time(plan.watermark_ms)} -> {_time(plan.watermark_after_ms)}"
    yield from _offsets(plan)
    if plan.state_version:
        first = plan.batch + 1
        versions = _span(first, plan.state_version) if first <= plan.state_version else "none"
        yield f"  state       batch {plan.batch} starts from version {plan.batch}; versions set aside: {versions}"
    size = human_bytes(plan.bytes)
    yield f"  files       {_files(plan.change)}, {size}, set aside in {plan.change.aside}; nothing is deleted"
    yield f"  sink        {plan.change.sink.effect.text}"
    for note in plan.notes:
        yield f"  note        {note.text}"


def explain_undo(plan: UndoPlan) -> Iterator[str]:
    yield f"Undo {plan.of}   {plan.change.operation}"
    yield f"  checkpoint  {plan.checkpoint}"
    yield f"  batches     {_span(plan.batch, plan.newest)} are restored as they were before the rewind"
    yield f"  files       {_files(plan.change)} moved back from {plan.change.aside}"
    yield f"  sink        {plan.change.sink.effect.text}"


def explain_done(plan: RewindPlan | UndoPlan, checks: tuple[Check, ...]) -> Iterator[str]:
    """What was verified afterwards, and what comes next."""
    operation = plan.change.operation
    yield f"Done: {operation}. Verified by a new read:" if checks else f"Done: {operation}."
    yield from (f"  {check.what.text}" for check in checks)
    if isinstance(plan, RewindPlan):
        next_start = f"anabranch run {plan.pipeline}" if plan.pipeline else "the next start"
        yield f"{next_start}   runs batch {plan.batch} again"
        yield f"anabranch undo {operation}   restores everything, until then"


def _mode(plan: RewindPlan) -> str:
    if plan.mode == "replay":
        return "replay: it reads the same range again; Spark plans later batches again"
    return "replan: Spark chooses a new range for it"


def _offsets(plan: RewindPlan) -> Iterator[str]:
    rows = "" if plan.rows is None else f"{plan.rows:,} rows are read again"
    if not plan.offsets:
        yield "  offsets     not of Kafka: anabranch checkpoint shows them"
    for topic, held in plan.offsets.items():
        parts = [f"{partition}: {now} -> {then}" for partition, (now, then) in held.items()]
        more = f"  and {len(parts) - _MOST_PARTITIONS} more" if len(parts) > _MOST_PARTITIONS else ""
        yield f"  offsets     {topic}  " + "  ".join(parts[:_MOST_PARTITIONS]) + more + (f"   ({rows})" if rows else "")


def _files(change: CheckpointChange) -> str:
    return counted(len(change.paths), "file")


def _span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first} to {last}"


def _time(epoch_ms: int) -> str:
    return instant(epoch_ms) or "none yet"
