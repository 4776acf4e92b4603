"""Which batches can be rewound to, and exactly why not: the five rules of docs/internals/checkpoints.md.

Rule 5, whether the source still has the data, needs what Kafka retains: without it the other four decide.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from anabranch.checkpoint import messages
from anabranch.checkpoint.checkpoint import Checkpoint, Operator
from anabranch.checkpoint.layout import KafkaOffsets, OffsetRange, RetainedOffsets, StoreFiles, log_offset
from anabranch.checkpoint.state import Trouble
from anabranch.errors import Reason


@dataclass(frozen=True)
class Rewindability:
    why_not: tuple[Reason, ...] = ()
    # What to mind although it is possible.
    notes: tuple[Reason, ...] = ()

    @property
    def possible(self) -> bool:
        return not self.why_not


def judge_replay(checkpoint: Checkpoint, batch: int, held: RetainedOffsets | None = None) -> Rewindability:
    """Batch N takes the same range again."""
    newest = -1 if checkpoint.newest is None else checkpoint.newest
    if beyond := (*_unfinished(checkpoint), *_reachable(checkpoint, batch, newest)):
        return Rewindability(beyond)
    why_not = (
        *_log(checkpoint, batch, (batch - 1, batch)),
        *_initial(checkpoint, batch),
        *_file_entries(checkpoint, batch),
        *_state(checkpoint, batch),
        *_source(checkpoint, batch, held),
    )
    entry = checkpoint.offset_entry(batch)
    return Rewindability(why_not, (messages.OFFSET_LOG_VERSION_2(),) if entry is not None and entry.version == 2 else ())


def judge_replan(checkpoint: Checkpoint, batch: int, held: RetainedOffsets | None = None) -> Rewindability:
    """Spark chooses a new range for batch N. N = newest + 1 is possible and takes nothing back."""
    last = 0 if checkpoint.newest is None else checkpoint.newest + 1
    if beyond := (*_unfinished(checkpoint), *_reachable(checkpoint, batch, last)):
        return Rewindability(beyond)
    why_not = (
        *_log(checkpoint, batch, (batch - 2, batch - 1)),
        *_initial(checkpoint, batch),
        *_file_entries(checkpoint, batch - 1),
        *_state(checkpoint, batch),
        *_source(checkpoint, batch, held),
    )
    return Rewindability(why_not)


def oldest_restartable(checkpoint: Checkpoint, held: RetainedOffsets | None = None) -> int | None:
    """How far back one can go, by either way. None: nowhere."""
    for batch in checkpoint.batches:
        if judge_replay(checkpoint, batch, held).possible or judge_replan(checkpoint, batch, held).possible:
            return batch
    return None


def _unfinished(checkpoint: Checkpoint) -> Iterator[Reason]:
    if checkpoint.fence or checkpoint.journals:
        yield messages.UNFINISHED(file=checkpoint.fence or checkpoint.journals[0])


def _reachable(checkpoint: Checkpoint, batch: int, last: int) -> Iterator[Reason]:
    if batch < 0:
        yield messages.NO_SUCH_BATCH(batch=batch)
    elif checkpoint.newest is None and last < batch:
        yield messages.NEVER_PLANNED()
    elif batch > last:
        yield messages.NOT_PLANNED(batch=batch, newest=checkpoint.newest)


def _log(checkpoint: Checkpoint, batch: int, needed: tuple[int, int]) -> Iterator[Reason]:
    """Rules 1 and 2: the entries that a start reads."""
    for number in needed:
        if number >= 0 and checkpoint.offset_entry(number) is None:
            yield _unusable(number in checkpoint.offsets, f"offsets/{number}", _use_of(number, batch))
    if batch > 0 and checkpoint.commit_entry(batch - 1) is None:
        yield _unusable(batch - 1 in checkpoint.commits, f"commits/{batch - 1}", messages.RUNS_AGAIN(batch=batch - 1))


def _unusable(is_there: bool, file: str, use: Reason) -> Reason:
    return messages.ENTRY_UNREADABLE(file=file, use=use) if is_there else messages.ENTRY_MISSING(file=file, use=use)


def _use_of(number: int, batch: int) -> Reason:
    if number == batch:
        return messages.SAYS_RANGE(batch=batch)
    if number == batch - 1:
        return messages.SAYS_START(batch=batch)
    return messages.LAST_TWO()


def _initial(checkpoint: Checkpoint, batch: int) -> Iterator[Reason]:
    """Without it batch 0 begins where the source ends, and rows are lost without an error (docs/internals/hazards.md, K)."""
    if batch == 0:
        entry = checkpoint.offset_entry(0)
        for place, read in enumerate(checkpoint.ranges(0)):
            if read.kind in ("kafka", "rate") and entry and checkpoint.initial(place, entry.sources) is None:
                yield messages.INITIAL_MISSING(place=place)


def _file_entries(checkpoint: Checkpoint, last_kept: int) -> Iterator[Reason]:
    """A file source finds its files in its own log, which a start reads whole: from the newest compact entry to the limit."""
    entry = checkpoint.offset_entry(last_kept)
    for place, source in enumerate(entry.sources if entry else ()):
        log, end = checkpoint.source_log(place, entry.sources if entry else ()), log_offset(source)
        if end is None:
            continue
        compacted = max((number for number in log.compacts if number <= end), default=-1) if log else -1
        held = log.sizes if log else {}
        missing = next((number for number in range(compacted + 1, end + 1) if number not in held), None)
        if missing is not None:
            yield messages.SOURCE_ENTRY_MISSING(place=place, entry=missing)


def _state(checkpoint: Checkpoint, batch: int) -> Iterator[Reason]:
    """Rules 3 and 4: version N of every store loads, and the operator is written down as of N-1."""
    if batch == 0:
        return
    for operator in checkpoint.operators:
        yield from _metadata(checkpoint, operator, batch)
        missing = checkpoint.missing_stores(operator)
        troubles = [(store, trouble) for store in operator.stores if (trouble := checkpoint.state_trouble(store, batch))]
        # Only the first is described: a number that is garbage could make a hundred thousand of them.
        if missing or troubles:
            count = len(missing) + len(troubles)
            more = [messages.MORE_STORES(count=count - 1)] if count > 1 else []
            first = _missing(operator, *missing[0]) if missing else _trouble(*troubles[0])
            yield messages.STATE_NOT_LOADABLE(version=batch, what=[first, *more])


def _missing(operator: Operator, partition: int, store: str) -> Reason:
    return messages.STORE_MISSING(operator=operator.id, partition=partition, store=store)


def _trouble(store: StoreFiles, trouble: Trouble) -> Reason:
    return messages.IN_STORE(store=store.label, what=trouble.what)


def _source(checkpoint: Checkpoint, batch: int, held: RetainedOffsets | None) -> Iterator[Reason]:
    """Rule 5."""
    if held is not None:
        yield from not_retained(checkpoint.start_of(batch), held)


def _metadata(checkpoint: Checkpoint, operator: Operator, batch: int) -> Iterator[Reason]:
    path = checkpoint.operator_metadata_path(operator, batch)
    if path is None:
        if operator.metadata_log.sizes:
            yield messages.OPERATOR_UNKNOWN(operator=operator.id, batch=batch - 1)
        return
    metadata = checkpoint.operator_metadata(operator, batch)
    if metadata is None:
        yield messages.OPERATOR_UNREADABLE(file=path, operator=operator.id)
        return
    for schema in missing_schemas(checkpoint, metadata.schema_paths):
        yield messages.SCHEMA_GONE(file=schema, operator=operator.id)


def missing_schemas(checkpoint: Checkpoint, paths: tuple[str, ...]) -> Iterator[str]:
    """Those inside this directory; of those outside only a finding can speak."""
    for path in paths:
        inside = inside_path(checkpoint, path)
        if inside is not None:
            directory, _, name = inside.rpartition("/")
            if name not in checkpoint.listing.get(directory, {}):
                yield inside


def inside_path(checkpoint: Checkpoint, path: str) -> str | None:
    """An absolute path as Spark writes it (`file:/...`), relative to this checkpoint; None: it is elsewhere."""
    plain = "/" + path.removeprefix("file:").lstrip("/") if path.startswith(("file:", "/")) else path
    for location in checkpoint.locations:
        if plain.startswith(location.rstrip("/") + "/"):
            return plain.removeprefix(location.rstrip("/") + "/")
    return None


def not_retained(start: KafkaOffsets, retained: RetainedOffsets) -> Iterator[Reason]:
    """Each partition whose next offset Kafka does not have."""
    for topic, partitions in start.items():
        for partition, offset in partitions.items():
            held = retained.get(topic, {}).get(partition)
            where = {"topic": topic, "partition": partition}
            if held is None:
                yield messages.PARTITION_GONE(**where)
            elif offset < held.earliest:
                yield messages.OFFSETS_EXPIRED(**where, first=offset, last=held.earliest - 1)
            elif offset > held.end:
                yield messages.OFFSETS_BEYOND_END(**where, end=held.end, offset=offset)


def lag_of(retained: OffsetRange, read: int | None) -> int:
    """What is still to be read of a partition: all of it where nothing has been read yet."""
    return max(0, retained.end - (retained.earliest if read is None else read))
