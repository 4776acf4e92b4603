"""What a rewind does to a checkpoint: from a checkpoint and a batch to the files that are moved, and what that means.

Batch N runs again, with the same range (replay) or a new one (replan): the rules are in docs/internals/rewinding.md. Whether
N is possible is decided in checkpoint/restartable.py, what happens at the sink in streaming/sinks. Nothing here reads a disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from anabranch.checkpoint.checkpoint import Checkpoint
from anabranch.checkpoint.layout import KafkaOffsets, LogFiles, OffsetEntry, RetainedOffsets, log_offset, parse_state_name
from anabranch.checkpoint.restartable import Rewindability, judge_replan, judge_replay
from anabranch.errors import Reason
from anabranch.operations.change import CheckpointChange, OffsetPairs, SinkChange, fingerprint
from anabranch.operations.receipt import Check
from anabranch.rewind import messages

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
    offsets: OffsetPairs
    # To be read again; None where the source does not tell.
    rows: int | None
    # The newest version of state that is held, in any store; 0 without state.
    state_version: int
    bytes: int
    notes: tuple[Reason, ...]

    @property
    def is_empty(self) -> bool:
        return not self.change.paths and self.change.sink.action == "leave"


def plan_rewind(
    checkpoint: Checkpoint,
    batch: int,
    mode: Mode,
    *,
    operation: str,
    sink: SinkChange,
    pipeline: str | None,
    notes: Sequence[Reason] = (),
) -> RewindPlan:
    """The batch must be possible (`check_possible`)."""
    newest = checkpoint.newest if checkpoint.newest is not None else -1
    paths = tuple(files_beyond(checkpoint, batch, mode))
    now, then = checkpoint.end_of(checkpoint.newest), checkpoint.start_of(batch)
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
        state_version=_newest_state(checkpoint),
        bytes=sum(_sizes(checkpoint, paths)),
        notes=tuple(notes),
    )


def judge(checkpoint: Checkpoint, batch: int, mode: Mode, retained: RetainedOffsets | None = None) -> Rewindability:
    return (judge_replay if mode == "replay" else judge_replan)(checkpoint, batch, retained)


def check_restartable(
    checkpoint: Checkpoint, batch: int, mode: Mode, retained: RetainedOffsets | None, also: Sequence[Reason] = ()
) -> Rewindability:
    """Refuses with the reason, and the nearest batches that are possible. `also`: more remedies."""
    verdict = judge(checkpoint, batch, mode, retained)
    if verdict.possible:
        return verdict
    other: Mode = "replan" if mode == "replay" else "replay"
    ways = [messages.NEAREST(batch=near) for near in _nearest(checkpoint, batch, mode, retained)]
    if judge(checkpoint, batch, other, retained).possible:
        ways.append((messages.WITH_REPLAN if other == "replan" else messages.WITHOUT_REPLAN)(batch=batch))
    if not ways:
        ways.append(messages.NONE_POSSIBLE())
    raise messages.NOT_RESTARTABLE(batch=batch, mode=mode, why=verdict.why_not, ways=[*ways, *also])


def _nearest(checkpoint: Checkpoint, batch: int, mode: Mode, retained: RetainedOffsets | None) -> Iterator[int]:
    """The next possible one on each side."""
    below = (number for number in reversed(checkpoint.batches) if number < batch)
    above = (number for number in checkpoint.batches if number > batch)
    for side in (below, above):
        found = next((number for number in side if judge(checkpoint, number, mode, retained).possible), None)
        if found is not None:
            yield found


def files_beyond(checkpoint: Checkpoint, batch: int, mode: Mode) -> Iterator[str]:
    """What is moved aside so that batch N runs again: newest first, commits before offsets, each with its checksum."""
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
    """Every version above N, in every operator, partition and store: one left behind corrupts silently (hazards.md, A, B)."""
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
    """Entries of a file source beyond the limit; of Kafka and rate, which keep where they began, nothing (hazards.md, K)."""
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


def verify(change: CheckpointChange, checkpoint: Checkpoint) -> tuple[Check, ...]:
    """From a new read of the checkpoint: each thing that must hold now, and whether it does."""
    return (
        Check(messages.NO_FENCE_LEFT(), checkpoint.fence is None and not checkpoint.journals),
        Check(messages.FILES_AS_PLANNED(), fingerprint(checkpoint.listing) == change.after),
    )


def verify_rewind(plan: RewindPlan, checkpoint: Checkpoint) -> tuple[Check, ...]:
    last = plan.batch if plan.mode == "replay" else plan.batch - 1
    newest, committed = checkpoint.newest, checkpoint.commits.newest
    is_restartable = judge(checkpoint, plan.batch, plan.mode).possible
    return (
        *verify(plan.change, checkpoint),
        Check(messages.NEWEST_PLANNED_IS(batch=_or_none(last)), (-1 if newest is None else newest) == last),
        Check(
            messages.NEWEST_COMMIT_IS(batch=_or_none(plan.batch - 1)),
            (-1 if committed is None else committed) == plan.batch - 1,
        ),
        Check(messages.NO_STATE_ABOVE(version=plan.batch), _newest_state(checkpoint) <= plan.batch),
        Check(messages.BATCH_IS_RESTARTABLE(batch=plan.batch), is_restartable),
    )


def _or_none(batch: int) -> int | str:
    return batch if batch >= 0 else "none"


def _newest_state(checkpoint: Checkpoint) -> int:
    """In any store; 0 without state."""
    return max((max(store.versions, default=0) for one in checkpoint.operators for store in one.stores), default=0)
