"""Which batches can be taken back to, and exactly why not: the rules of checkpoint-rewind.md, section 4.

Rule 5, whether the source still has the data, needs what Kafka holds: without it the other four decide.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from anabranch.checkpoint.checkpoint import Checkpoint, Operator
from anabranch.checkpoint.offsets import RetainedOffsets, not_retained
from anabranch.checkpoint.sources import log_offset
from anabranch.checkpoint.starts import start_of

# Hazard J: `None.get` in Spark 4.2.0.
_NOTE_ON_VERSION_2 = (
    "the offset log has version 2, of which Spark 4.2.0 cannot start an unfinished batch: replan, "
    "or set spark.sql.streaming.checkUnfinishedRepartitionOnRestart=false"
)


@dataclass(frozen=True)
class Rewindability:
    why_not: tuple[str, ...] = ()
    # What to mind although it is possible.
    notes: tuple[str, ...] = ()

    @property
    def possible(self) -> bool:
        return not self.why_not


def judge_replay(checkpoint: Checkpoint, batch: int, held: RetainedOffsets | None = None) -> Rewindability:
    """Batch N takes the same range again."""
    newest = -1 if checkpoint.newest is None else checkpoint.newest
    if not_retained := (*_unfinished(checkpoint), *_reachable(checkpoint, batch, newest)):
        return Rewindability(not_retained)
    why_not = (
        *_log(checkpoint, batch, (batch - 1, batch)),
        *_initial(checkpoint, batch),
        *_file_entries(checkpoint, batch),
        *_state(checkpoint, batch),
        *_source(checkpoint, batch, held),
    )
    entry = checkpoint.offset_entry(batch)
    return Rewindability(why_not, (_NOTE_ON_VERSION_2,) if entry is not None and entry.version == 2 else ())


def judge_replan(checkpoint: Checkpoint, batch: int, held: RetainedOffsets | None = None) -> Rewindability:
    """Spark chooses a new range for batch N. N = newest + 1 is possible and takes nothing back."""
    last = 0 if checkpoint.newest is None else checkpoint.newest + 1
    if not_retained := (*_unfinished(checkpoint), *_reachable(checkpoint, batch, last)):
        return Rewindability(not_retained)
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


def _unfinished(checkpoint: Checkpoint) -> Iterator[str]:
    if checkpoint.fence or checkpoint.journals:
        yield f"an operation is not finished ({checkpoint.fence or checkpoint.journals[0]}): resume or undo it first"


def _reachable(checkpoint: Checkpoint, batch: int, last: int) -> Iterator[str]:
    if batch < 0:
        yield f"there is no batch {batch}"
    elif checkpoint.newest is None and last < batch:
        yield "no batch was ever planned here"
    elif batch > last:
        yield f"batch {batch} is not planned yet: the newest is {checkpoint.newest}"


def _log(checkpoint: Checkpoint, batch: int, needed: tuple[int, int]) -> Iterator[str]:
    """Rules 1 and 2: the entries that a start reads."""
    for number in needed:
        if number >= 0 and checkpoint.offset_entry(number) is None:
            yield f"{_gone_or_broken(number in checkpoint.offsets, f'offsets/{number}')}: {_use_of(number, batch)}"
    if batch > 0 and checkpoint.commit_entry(batch - 1) is None:
        what = _gone_or_broken(batch - 1 in checkpoint.commits, f"commits/{batch - 1}")
        yield f"{what}: batch {batch - 1} would run again into the sink"


def _gone_or_broken(is_there: bool, path: str) -> str:
    return f"{path} cannot be read" if is_there else f"{path} is gone"


def _use_of(number: int, batch: int) -> str:
    if number == batch:
        return f"it says what batch {batch} reads"
    if number == batch - 1:
        return f"it says where batch {batch} begins"
    return "a start reads the last two entries of the log"


def _initial(checkpoint: Checkpoint, batch: int) -> Iterator[str]:
    """Hazard K: without it batch 0 begins where the source ends, and rows are lost without an error."""
    if batch == 0:
        entry = checkpoint.offset_entry(0)
        for place, read in enumerate(checkpoint.ranges(0)):
            if read.kind in ("kafka", "rate") and entry and checkpoint.initial(place, entry.sources) is None:
                yield f"sources/{place}/0 is gone or cannot be read: it says where batch 0 begins"


def _file_entries(checkpoint: Checkpoint, last_kept: int) -> Iterator[str]:
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
            yield f"sources/{place}/{missing} is gone: it names files that were read by then"


def _state(checkpoint: Checkpoint, batch: int) -> Iterator[str]:
    """Rules 3 and 4: version N of every store loads, and the operator is written down as of N-1."""
    if batch == 0:
        return
    for operator in checkpoint.operators:
        yield from _metadata(checkpoint, operator, batch)
        missing = checkpoint.missing_stores(operator)
        troubles = [
            (store, found) for store in operator.stores if (found := checkpoint.state_trouble(store, batch)) is not None
        ]
        if missing or troubles:
            first = _no_store(operator, *missing[0]) if missing else f"{troubles[0][0].label}: {troubles[0][1].what}"
            count = len(missing) + len(troubles) - 1
            more = f" (and {count:,} more store{'s' if count > 1 else ''})" if count else ""
            yield f"state version {batch} does not load: {first}{more}"


def _source(checkpoint: Checkpoint, batch: int, held: RetainedOffsets | None) -> Iterator[str]:
    """Rule 5."""
    if held is not None:
        yield from not_retained(start_of(checkpoint, batch), held)


def _no_store(operator: Operator, partition: int, name: str) -> str:
    return f"operator {operator.id} has no partition {partition}" + ("" if name == "default" else f" of store {name}")


def _metadata(checkpoint: Checkpoint, operator: Operator, batch: int) -> Iterator[str]:
    path = checkpoint.operator_metadata_path(operator, batch)
    if path is None:
        if operator.metadata_log.sizes:
            yield f"operator {operator.id} is not written down as of batch {batch - 1}: _metadata/v2 begins later"
        return
    metadata = checkpoint.operator_metadata(operator, batch)
    if metadata is None:
        yield f"{path} cannot be read: it says what operator {operator.id} is"
        return
    for schema in missing_schemas(checkpoint, metadata.schema_paths):
        yield f"{schema} is gone: it is the schema of operator {operator.id}"


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
