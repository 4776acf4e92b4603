"""What a rewind does to a checkpoint: from an inventory and a batch to the files that go, and what that means.

Batch N runs again, with the same range (replay) or planned anew (replan). Rules: checkpoint-rewind.md, 1. Whether N is possible
is decided in possible.py, what happens at the sink by whoever knows the sink; nothing here looks at the world.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from anabranch.checkpoint.checkpoint import Checkpoint
from anabranch.checkpoint.files import LogFiles, parse_state_name
from anabranch.checkpoint.logs import KafkaOffsets, OffsetEntry
from anabranch.checkpoint.offsets import RetainedOffsets
from anabranch.checkpoint.restartable import Rewindability, judge_replan, judge_replay
from anabranch.checkpoint.sources import log_offset
from anabranch.checkpoint.starts import read_so_far, start_of
from anabranch.errors import Refused
from anabranch.operations.change import (
    CheckpointChange,
    LeaveSink,
    Pairs,
    SinkPart,
    change_from_json,
    fingerprint,
    pairs_from_json,
)

Mode = Literal["replay", "replan"]


@dataclass(frozen=True)
class RewindPlan:
    change: CheckpointChange
    checkpoint: str
    # None: a checkpoint that is not of this project.
    pipeline: str | None
    mode: Mode
    # N, and the newest planned batch.
    batch: int
    newest: int
    watermark_ms: int
    watermark_after_ms: int
    # Where the next batch begins now, and will begin.
    offsets: Pairs
    # To be read again; None where the source does not tell.
    rows: int | None
    # The newest version of state that is held, in any store; 0 without state.
    state_version: int
    bytes: int
    notes: tuple[str, ...]

    @property
    def is_empty(self) -> bool:
        return not self.change.paths and isinstance(self.change.sink, LeaveSink)


def plan_rewind(
    checkpoint: Checkpoint,
    batch: int,
    mode: Mode,
    *,
    operation: str,
    sink: SinkPart,
    pipeline: str | None,
    notes: Sequence[str] = (),
) -> RewindPlan:
    """The batch must be possible (`check_possible`)."""
    newest = checkpoint.newest if checkpoint.newest is not None else -1
    paths = tuple(files_beyond(checkpoint, batch, mode))
    now, then = read_so_far(checkpoint), start_of(checkpoint, batch)
    return RewindPlan(
        change=CheckpointChange(
            operation=operation,
            aside=f"_rewind/{operation}",
            is_back=False,
            paths=paths,
            fence=f"offsets/{newest + 1}",
            sink=sink,
            before=fingerprint(checkpoint.listing),
            after=fingerprint(checkpoint.listing, paths),
        ),
        checkpoint=checkpoint.path,
        pipeline=pipeline,
        mode=mode,
        batch=batch,
        newest=newest,
        watermark_ms=_watermark(checkpoint, checkpoint.next_batch),
        watermark_after_ms=_watermark(checkpoint, batch),
        offsets=_both(now, then),
        rows=_rows(now, then),
        state_version=max((max(s.versions, default=0) for o in checkpoint.operators for s in o.stores), default=0),
        bytes=sum(_sizes(checkpoint, paths)),
        notes=tuple(notes),
    )


def possible(checkpoint: Checkpoint, batch: int, mode: Mode, held: RetainedOffsets | None = None) -> Rewindability:
    return judge_replay(checkpoint, batch, held) if mode == "replay" else judge_replan(checkpoint, batch, held)


def check_restartable(
    checkpoint: Checkpoint, batch: int, mode: Mode, held: RetainedOffsets | None, also: Sequence[str] = ()
) -> Rewindability:
    """Refuses with the reason, and the nearest batches that are possible. `also`: more ways out."""
    verdict = possible(checkpoint, batch, mode, held)
    if verdict.possible:
        return verdict
    other: Mode = "replan" if mode == "replay" else "replay"
    ways = [f"batch {near} is possible: --to-batch {near}" for near in _nearest(checkpoint, batch, mode, held)]
    if possible(checkpoint, batch, other, held).possible:
        flag = "with --replan" if other == "replan" else "without --replan"
        ways.append(f"batch {batch} is possible {flag}")
    if not ways:
        ways.append("no batch is possible: anabranch checkpoint says what is wrong with it")
    raise Refused(f"batch {batch} cannot be rewound to by {mode}: {'; '.join(verdict.why_not)}.", *ways, *also)


def _nearest(checkpoint: Checkpoint, batch: int, mode: Mode, held: RetainedOffsets | None) -> Iterator[int]:
    """The next possible one on each side."""
    below = (number for number in reversed(checkpoint.batches) if number < batch)
    above = (number for number in checkpoint.batches if number > batch)
    for side in (below, above):
        found = next((number for number in side if possible(checkpoint, number, mode, held).possible), None)
        if found is not None:
            yield found


def files_beyond(checkpoint: Checkpoint, batch: int, mode: Mode) -> Iterator[str]:
    """What goes aside so that batch N runs again: newest first, commits before offsets, each with its checksum."""
    last_kept = batch if mode == "replay" else batch - 1
    yield from _log(checkpoint, checkpoint.commits, batch - 1)
    yield from _log(checkpoint, checkpoint.offsets, last_kept)
    if batch == 0 and mode == "replan":
        # A query without offsets is a new one: it must find no state at all.
        yield from ["state"] if "state" in checkpoint.listing else []
    else:
        yield from _state(checkpoint, batch)
    entry, newest = checkpoint.offset_entry(last_kept), checkpoint.offset_entry(checkpoint.newest or 0)
    yield from _file_sources(checkpoint, entry, newest)


def _log(checkpoint: Checkpoint, log: LogFiles, last_kept: int) -> Iterator[str]:
    names = checkpoint.listing.get(log.directory, {})
    found = [(number, str(number)) for number in log.sizes] + [(number, f"{number}.compact") for number in log.compacts]
    for number, name in sorted(found, reverse=True):
        if number > last_kept:
            yield f"{log.directory}/{name}"
            if f".{name}.crc" in names:
                yield f"{log.directory}/.{name}.crc"


def _state(checkpoint: Checkpoint, batch: int) -> Iterator[str]:
    """Every version above N, in every operator, partition and store: one left behind corrupts in silence (hazards A, B)."""
    for operator in checkpoint.operators:
        for store in operator.stores:
            for name in sorted(checkpoint.listing.get(store.directory, {})):
                file = parse_state_name(_without_checksum(name))
                if file is not None and file.version > batch:
                    yield f"{store.directory}/{name}"
        yield from _log(checkpoint, operator.metadata_log, batch - 1)


def _without_checksum(name: str) -> str:
    """Hadoop's `.<name>.crc`, Spark's own `<name>.crc` of format 2, and Hadoop's of that: `.<name>.crc.crc`."""
    name = name.removeprefix(".")
    while name.endswith(".crc"):
        name = name.removesuffix(".crc")
    return name


def _file_sources(checkpoint: Checkpoint, kept: OffsetEntry | None, newest: OffsetEntry | None) -> Iterator[str]:
    """Entries of a file source beyond the limit; of Kafka and rate, which keep where they began, nothing (hazard K)."""
    texts = newest.sources if newest else ()
    seen: set[str] = set()
    for place, text in enumerate(texts):
        log = checkpoint.source_log(place, texts)
        if log_offset(text) is None or log is None or log.directory in seen:
            continue
        seen.add(log.directory)
        limit = log_offset(kept.sources[place]) if kept and place < len(kept.sources) else None
        yield from _log(checkpoint, log, -1 if limit is None else limit)


def _both(now: KafkaOffsets, then: KafkaOffsets) -> dict[str, dict[str, tuple[int, int]]]:
    """A partition that came later is read from its first record."""
    return {
        topic: {str(partition): (end, then.get(topic, {}).get(partition, 0)) for partition, end in sorted(held.items())}
        for topic, held in now.items()
    }


def _rows(now: KafkaOffsets, then: KafkaOffsets) -> int | None:
    if not now:
        return None
    return sum(end - begin for held in _both(now, then).values() for end, begin in held.values())


def _watermark(checkpoint: Checkpoint, batch: int) -> int:
    """The one that the batch runs with: it is planned with it, or the one before left it."""
    if (entry := checkpoint.offset_entry(batch)) is not None:
        return entry.watermark_ms
    commit = checkpoint.commit_entry(batch - 1)
    return commit.next_watermark_ms if commit else 0


def _sizes(checkpoint: Checkpoint, paths: Iterable[str]) -> Iterator[int]:
    for path in paths:
        directory, _, name = path.rpartition("/")
        if path == "state":
            state = ((held, names) for held, names in checkpoint.listing.items() if held.startswith("state/"))
            yield from _sizes(checkpoint, (f"{held}/{name}" for held, names in state for name in names))
        else:
            size = checkpoint.listing.get(directory, {}).get(name, 0)
            yield size if size >= 0 else checkpoint.contents.size(path)


def plan_from_json(record: Mapping[str, Any]) -> RewindPlan:
    fields = {name: value for name, value in record.items() if name in RewindPlan.__dataclass_fields__}
    read = {"change": change_from_json(record["change"]), "offsets": pairs_from_json(record["offsets"])}
    return RewindPlan(**{**fields, **read, "notes": tuple(record["notes"])})


def verify(change: CheckpointChange, checkpoint: Checkpoint) -> list[tuple[str, bool]]:
    """From a fresh look: each thing that must hold now, and whether it does."""
    return [
        ("no fence and no journal are left", checkpoint.fence is None and not checkpoint.journals),
        ("every file is in its place: none is missing, none is left over",
         fingerprint(checkpoint.listing) == change.after),
    ]  # fmt: skip


def verify_rewind(plan: RewindPlan, checkpoint: Checkpoint) -> list[tuple[str, bool]]:
    last = plan.batch if plan.mode == "replay" else plan.batch - 1
    versions = [version for operator in checkpoint.operators for store in operator.stores for version in store.versions]
    newest, committed = checkpoint.newest, checkpoint.commits.newest
    return [
        *verify(plan.change, checkpoint),
        (f"the newest batch planned is {last if last >= 0 else 'none'}", (-1 if newest is None else newest) == last),
        (f"the newest commit is {plan.batch - 1 if plan.batch else 'none'}",
         (-1 if committed is None else committed) == plan.batch - 1),
        (f"no state version is above {plan.batch}", all(version <= plan.batch for version in versions)),
        (f"batch {plan.batch} has all that it needs: its log, and its state loads",
         possible(checkpoint, plan.batch, plan.mode).possible),
    ]  # fmt: skip
