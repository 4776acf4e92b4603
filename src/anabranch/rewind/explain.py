"""A rewind and an undo in words: the same lines for every face, made from the plan alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from anabranch.checkpoint.report import instant
from anabranch.operations.change import CheckpointChange, DeleteRows, LeaveSink, RestoreRows, SinkPart, WrittenRows
from anabranch.rewind.plan import RewindPlan
from anabranch.rewind.undo import UndoPlan
from anabranch.text.sizes import human_bytes

_MOST_PARTITIONS = 8


def explain(plan: RewindPlan) -> Iterator[str]:
    name = plan.pipeline or "a checkpoint that is not of this project"
    yield f"Rewind {name} to batch {plan.batch} ({_how(plan)})   {plan.change.operation}"
    yield f"  checkpoint  {plan.checkpoint}"
    yield f"  batches     {_span(plan.batch, plan.newest)} of {plan.newest} taken back: they run again"
    yield f"  watermark   {_time(plan.watermark_ms)} -> {_time(plan.watermark_after_ms)}"
    yield from _offsets(plan)
    if plan.state_version:
        first = plan.batch + 1
        versions = _span(first, plan.state_version) if first <= plan.state_version else "none"
        yield f"  state       version {plan.batch} is what batch {plan.batch} begins with; set aside: {versions}"
    size = human_bytes(plan.bytes)
    yield f"  files       {_files(plan.change)}, {size}, set aside under {plan.change.aside}; nothing is deleted"
    yield f"  sink        {sink_words(plan.change.sink)}"
    for note in plan.notes:
        yield f"  note        {note}"


def explain_shift(plan: RewindPlan | UndoPlan) -> Iterator[str]:
    return explain(plan) if isinstance(plan, RewindPlan) else explain_undo(plan)


def explain_undo(plan: UndoPlan) -> Iterator[str]:
    yield f"Undo {plan.of}   {plan.change.operation}"
    yield f"  checkpoint  {plan.checkpoint}"
    yield f"  batches     {_span(plan.batch, plan.newest)} are put back as they were before the rewind"
    yield f"  files       {_files(plan.change)} moved back from {plan.change.aside}"
    yield f"  sink        {sink_words(plan.change.sink)}"


def sink_words(part: SinkPart) -> str:
    match part:
        case LeaveSink(words):
            return words
        case DeleteRows(rows):
            return (
                f"{_table(rows)}: {rows.count:,} rows are taken out by their offsets, and the query's transaction is set"
                f" from {rows.newest} to {rows.set_back_to}, in one commit; other writers' rows stay"
            )
        case RestoreRows(rows):
            return (
                f"{_table(rows)}: {rows.count:,} rows are put back, and the query's transaction is set"
                f" from {rows.set_back_to} to {rows.newest}, in one commit"
            )
        case _:
            assert_never(part)


def _table(rows: WrittenRows) -> str:
    return f"table {rows.table}"


def _how(plan: RewindPlan) -> str:
    if plan.mode == "replay":
        return "replay: it takes the same range again; later ones are planned anew"
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
    count = len(change.paths)
    return f"{count:,} file{'s' if count != 1 else ''}"


def _span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first} to {last}"


def _time(epoch_ms: int) -> str:
    return instant(epoch_ms) or "none yet"
