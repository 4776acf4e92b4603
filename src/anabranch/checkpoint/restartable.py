"""Which batches can be taken back to, and exactly why not: the rules of checkpoint-rewind.md, section 4.

Rule 5, whether the source still has the data, needs what Kafka holds: without it the other four decide.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from anabranch.checkpoint.checkpoint import Inventory, Operator
from anabranch.checkpoint.offsets import Held, out_of_reach
from anabranch.checkpoint.sources import log_offset
from anabranch.checkpoint.starts import start_of

# Hazard J: `None.get` in Spark 4.2.0.
_NOTE_ON_VERSION_2 = (
    "the offset log has version 2, of which Spark 4.2.0 cannot start an unfinished batch: replan, "
    "or set spark.sql.streaming.checkUnfinishedRepartitionOnRestart=false"
)


@dataclass(frozen=True)
class Verdict:
    why_not: tuple[str, ...] = ()
    # What to mind although it is possible.
    notes: tuple[str, ...] = ()

    @property
    def possible(self) -> bool:
        return not self.why_not


def possible_replay(inventory: Inventory, batch: int, held: Held | None = None) -> Verdict:
    """Batch N takes the same range again."""
    newest = -1 if inventory.newest is None else inventory.newest
    if out_of_reach := (*_unfinished(inventory), *_reachable(inventory, batch, newest)):
        return Verdict(out_of_reach)
    why_not = (
        *_log(inventory, batch, (batch - 1, batch)),
        *_initial(inventory, batch),
        *_file_entries(inventory, batch),
        *_state(inventory, batch),
        *_source(inventory, batch, held),
    )
    entry = inventory.offset_entry(batch)
    return Verdict(why_not, (_NOTE_ON_VERSION_2,) if entry is not None and entry.version == 2 else ())


def possible_replan(inventory: Inventory, batch: int, held: Held | None = None) -> Verdict:
    """Spark chooses a new range for batch N. N = newest + 1 is possible and takes nothing back."""
    last = 0 if inventory.newest is None else inventory.newest + 1
    if out_of_reach := (*_unfinished(inventory), *_reachable(inventory, batch, last)):
        return Verdict(out_of_reach)
    why_not = (
        *_log(inventory, batch, (batch - 2, batch - 1)),
        *_initial(inventory, batch),
        *_file_entries(inventory, batch - 1),
        *_state(inventory, batch),
        *_source(inventory, batch, held),
    )
    return Verdict(why_not)


def oldest_possible(inventory: Inventory, held: Held | None = None) -> int | None:
    """How far back one can go, by either way. None: nowhere."""
    for batch in inventory.batches:
        if possible_replay(inventory, batch, held).possible or possible_replan(inventory, batch, held).possible:
            return batch
    return None


def _unfinished(inventory: Inventory) -> Iterator[str]:
    if inventory.fence or inventory.journals:
        yield f"an operation is not finished ({inventory.fence or inventory.journals[0]}): resume or undo it first"


def _reachable(inventory: Inventory, batch: int, last: int) -> Iterator[str]:
    if batch < 0:
        yield f"there is no batch {batch}"
    elif inventory.newest is None and last < batch:
        yield "no batch was ever planned here"
    elif batch > last:
        yield f"batch {batch} is not planned yet: the newest is {inventory.newest}"


def _log(inventory: Inventory, batch: int, needed: tuple[int, int]) -> Iterator[str]:
    """Rules 1 and 2: the entries that a start reads."""
    for number in needed:
        if number >= 0 and inventory.offset_entry(number) is None:
            yield f"{_gone_or_broken(number in inventory.offsets, f'offsets/{number}')}: {_use_of(number, batch)}"
    if batch > 0 and inventory.commit_entry(batch - 1) is None:
        what = _gone_or_broken(batch - 1 in inventory.commits, f"commits/{batch - 1}")
        yield f"{what}: batch {batch - 1} would run again into the sink"


def _gone_or_broken(is_there: bool, path: str) -> str:
    return f"{path} cannot be read" if is_there else f"{path} is gone"


def _use_of(number: int, batch: int) -> str:
    if number == batch:
        return f"it says what batch {batch} reads"
    if number == batch - 1:
        return f"it says where batch {batch} begins"
    return "a start reads the last two entries of the log"


def _initial(inventory: Inventory, batch: int) -> Iterator[str]:
    """Hazard K: without it batch 0 begins where the source ends, and rows are lost without an error."""
    if batch == 0:
        entry = inventory.offset_entry(0)
        for place, read in enumerate(inventory.ranges(0)):
            if read.kind in ("kafka", "rate") and entry and inventory.initial(place, entry.sources) is None:
                yield f"sources/{place}/0 is gone or cannot be read: it says where batch 0 begins"


def _file_entries(inventory: Inventory, last_kept: int) -> Iterator[str]:
    """A file source finds its files in its own log, which a start reads whole: from the newest compact entry to the limit."""
    entry = inventory.offset_entry(last_kept)
    for place, source in enumerate(entry.sources if entry else ()):
        log, end = inventory.source_log(place, entry.sources if entry else ()), log_offset(source)
        if end is None:
            continue
        compacted = max((number for number in log.compacts if number <= end), default=-1) if log else -1
        held = log.sizes if log else {}
        missing = next((number for number in range(compacted + 1, end + 1) if number not in held), None)
        if missing is not None:
            yield f"sources/{place}/{missing} is gone: it names files that were read by then"


def _state(inventory: Inventory, batch: int) -> Iterator[str]:
    """Rules 3 and 4: version N of every store loads, and the operator is written down as of N-1."""
    if batch == 0:
        return
    for operator in inventory.operators:
        yield from _metadata(inventory, operator, batch)
        missing = inventory.missing_stores(operator)
        troubles = [(store, found) for store in operator.stores if (found := inventory.state_trouble(store, batch)) is not None]
        if missing or troubles:
            first = _no_store(operator, *missing[0]) if missing else f"{troubles[0][0].words}: {troubles[0][1].what}"
            count = len(missing) + len(troubles) - 1
            more = f" (and {count:,} more store{'s' if count > 1 else ''})" if count else ""
            yield f"state version {batch} does not load: {first}{more}"


def _source(inventory: Inventory, batch: int, held: Held | None) -> Iterator[str]:
    """Rule 5."""
    if held is not None:
        yield from out_of_reach(start_of(inventory, batch), held)


def _no_store(operator: Operator, partition: int, name: str) -> str:
    return f"operator {operator.id} has no partition {partition}" + ("" if name == "default" else f" of store {name}")


def _metadata(inventory: Inventory, operator: Operator, batch: int) -> Iterator[str]:
    path = inventory.operator_metadata_path(operator, batch)
    if path is None:
        if operator.metadata_log.sizes:
            yield f"operator {operator.id} is not written down as of batch {batch - 1}: _metadata/v2 begins later"
        return
    metadata = inventory.operator_metadata(operator, batch)
    if metadata is None:
        yield f"{path} cannot be read: it says what operator {operator.id} is"
        return
    for schema in missing_schemas(inventory, metadata.schema_paths):
        yield f"{schema} is gone: it is the schema of operator {operator.id}"


def missing_schemas(inventory: Inventory, paths: tuple[str, ...]) -> Iterator[str]:
    """Those inside this directory; of those outside only a finding can speak."""
    for path in paths:
        inside = inside_path(inventory, path)
        if inside is not None:
            directory, _, name = inside.rpartition("/")
            if name not in inventory.listing.get(directory, {}):
                yield inside


def inside_path(inventory: Inventory, path: str) -> str | None:
    """An absolute path as Spark writes it (`file:/...`), relative to this checkpoint; None: it is elsewhere."""
    plain = "/" + path.removeprefix("file:").lstrip("/") if path.startswith(("file:", "/")) else path
    for location in inventory.locations:
        if plain.startswith(location.rstrip("/") + "/"):
            return plain.removeprefix(location.rstrip("/") + "/")
    return None
