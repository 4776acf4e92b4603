"""What is wrong with a checkpoint: the file, what Spark would do with it, and the remedy.

The listing is judged whole; texts are read only of the batches that are asked for, since reading 10,000 takes a second.
Nothing here decides what can be rewound to: that is restartable.py.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from anabranch.checkpoint import messages
from anabranch.checkpoint.checkpoint import Checkpoint, Operator
from anabranch.checkpoint.layout import LogFiles, StoreFiles, is_temporary, log_offset
from anabranch.checkpoint.restartable import inside_path, missing_schemas
from anabranch.checkpoint.state import Trouble
from anabranch.errors import Message, Reason

# The place of what concerns no single file.
WHOLE = "."


@dataclass(frozen=True)
class Finding:
    """Something about a checkpoint that a person should know before trusting it."""

    # Relative to the checkpoint.
    file: str
    reason: Reason

    @property
    def code(self) -> str:
        return self.reason.code

    @property
    def remedies(self) -> tuple[str, ...]:
        return self.reason.remedies

    @property
    def remedy(self) -> str:
        return "; ".join(self.remedies)

    def as_json(self) -> dict[str, Any]:
        about = self.reason.as_json()
        return {"code": self.code, "file": self.file, "what": about["text"], "remedy": self.remedy, "params": about["params"]}


def findings(checkpoint: Checkpoint, batches: Collection[int] | None = None) -> list[Finding]:
    """`batches`: those whose texts and state are read; None: all."""
    if checkpoint.fence is not None or checkpoint.journals:
        # Whatever else looks wrong is an operation half done: to act on it would break its resume.
        return [*_unfinished(checkpoint), *_unreadable(checkpoint)]
    # A commit without offsets is read as well.
    wanted = sorted({*checkpoint.batches, *checkpoint.commits.sizes} if batches is None else batches)
    found = [
        *_unreadable(checkpoint),
        *_query_id(checkpoint),
        *_logs(checkpoint, wanted),
        *_order(checkpoint),
        *_sources(checkpoint),
        *_state(checkpoint, wanted, is_whole=batches is None),
        *_strays(checkpoint),
    ]
    # A file that affects many batches is named once, for the one that matters most.
    return list({(one.code, one.file): one for one in reversed(found)}.values())[::-1]


def _unfinished(checkpoint: Checkpoint) -> Iterator[Finding]:
    if checkpoint.fence is not None:
        yield Finding(checkpoint.fence, messages.FENCE())
    for journal in checkpoint.journals:
        yield Finding(journal, messages.JOURNAL())


def _unreadable(checkpoint: Checkpoint) -> Iterator[Finding]:
    for directory in checkpoint.unreadable:
        what, remedy = messages.DIRECTORY_UNREADABLE(), messages.LOOK_AS_OWNER(directory=directory)
        yield Finding(directory, messages.UNREADABLE(what=what, remedy=remedy))


def _query_id(checkpoint: Checkpoint) -> Iterator[Finding]:
    if "metadata" not in checkpoint.listing.get("", {}):
        if checkpoint.batches:
            yield Finding("metadata", messages.METADATA_MISSING(remedy=messages.NEW_QUERY_ID()))
    elif checkpoint.query_id is None:
        yield Finding("metadata", messages.METADATA_BROKEN(remedy=messages.NEW_QUERY_ID()))


def _logs(checkpoint: Checkpoint, wanted: list[int]) -> Iterator[Finding]:
    for batch in wanted:
        for log, entry in ((checkpoint.offsets, checkpoint.offset_entry), (checkpoint.commits, checkpoint.commit_entry)):
            if batch in log:
                yield from _entry(checkpoint, log, batch, entry(batch) is None)


def _entry(checkpoint: Checkpoint, log: LogFiles, batch: int, is_broken: bool) -> Iterator[Finding]:
    path = log.path(batch)
    if is_broken:
        yield Finding(path, _broken(checkpoint, log, batch, checkpoint.contents.text(path)))
    elif _is_read_at_start(checkpoint, log, batch) and checkpoint.contents.fits_checksum(path) is False:
        # Seen on 4.2: FileSystemBasedCheckpointFileManager fails, Spark's default one reads what is there.
        yield Finding(path, messages.CHECKSUM(checksum=f"{log.directory}/.{batch}.crc"))


def _broken(checkpoint: Checkpoint, log: LogFiles, batch: int, text: str | None) -> Reason:
    is_read = _is_read_at_start(checkpoint, log, batch)
    consequence = messages.READ_AT_START() if is_read else messages.NOT_READ_AT_START()
    remedy = messages.RESTORE_OR_REWIND(file=log.path(batch))
    if text is None:
        return messages.UNREADABLE(what=messages.FILE_UNREADABLE(consequence=consequence), remedy=remedy)
    kind = messages.LOG_BROKEN if text else messages.LOG_EMPTY
    return kind(consequence=consequence, remedy=remedy)


def _is_read_at_start(checkpoint: Checkpoint, log: LogFiles, batch: int) -> bool:
    newest = log.newest if log is checkpoint.commits else checkpoint.newest
    return newest is not None and batch in (newest, newest - 1)


def _order(checkpoint: Checkpoint) -> Iterator[Finding]:
    """The two logs, each in itself and against each other."""
    yield from _gaps(checkpoint.offsets)
    yield from _gaps(checkpoint.commits)
    yield from _commits_without_offsets(checkpoint)
    newest, committed = checkpoint.newest, checkpoint.commits.newest
    if newest is None:
        return
    if committed is not None and committed < newest - 1:
        behind = messages.COMMITS_BEHIND(committed=committed, newest=newest, first=committed + 1, last=newest - 1)
        yield Finding(f"commits/{newest - 1}", behind)
    entry = checkpoint.offset_entry(newest)
    if entry is not None and entry.version == 2 and newest not in checkpoint.commits:
        yield Finding(checkpoint.offsets.path(newest), messages.UNFINISHED_VERSION_2())


def _commits_without_offsets(checkpoint: Checkpoint) -> Iterator[Finding]:
    newest = checkpoint.newest
    # Below the oldest entry the commits may be purged a moment later than the offsets.
    oldest = checkpoint.batches[0] if newest is not None else -1
    for batch in sorted(batch for batch in checkpoint.commits.sizes.keys() - checkpoint.offsets.sizes.keys() if batch > oldest):
        if newest is None:
            consequence = messages.COMMIT_OF_NEW_QUERY()
        else:
            consequence = messages.COMMIT_AHEAD() if batch > newest else messages.COMMIT_IGNORED()
        yield Finding(checkpoint.commits.path(batch), messages.COMMIT_WITHOUT_OFFSETS(consequence=consequence, batch=batch))


def _gaps(log: LogFiles) -> Iterator[Finding]:
    numbers = sorted(log.sizes)
    for before, after in pairwise(numbers):
        if after > before + 1:
            fails = log.directory == "offsets" and after == numbers[-1]
            consequence = messages.GAP_FAILS() if fails else messages.GAP_IGNORED()
            gap = messages.GAP(log=log.directory, first=before + 1, last=after - 1, consequence=consequence)
            yield Finding(f"{log.directory}/{before + 1}", gap)


def _sources(checkpoint: Checkpoint) -> Iterator[Finding]:
    """A file source writes its own log first, so it may be one entry ahead of the offsets; not more."""
    entry = checkpoint.offset_entry(checkpoint.newest) if checkpoint.newest is not None else None
    for place, source in enumerate(entry.sources if entry else ()):
        end, log = log_offset(source), checkpoint.source_log(place, entry.sources if entry else ())
        if end is None or log is None:
            continue
        newest = max(log.newest if log.newest is not None else -1, max(log.compacts, default=-1))
        if newest > end + 1:
            yield Finding(log.path(newest), messages.SOURCE_AHEAD(newest=newest, end=end))


def _strays(checkpoint: Checkpoint) -> Iterator[Finding]:
    for directory, names in checkpoint.listing.items():
        if directory.startswith("_rewind"):
            continue
        prefix = f"{directory}/" if directory else ""
        for name in _suspects(names):
            if is_temporary(name):
                yield Finding(prefix + name, messages.TEMPORARY())
            elif name.endswith(".crc") and (owner := name.removeprefix(".")[:-4]) not in names:
                consequence = _stray_consequence(directory)
                stray = messages.STRAY_CRC(owner=owner, consequence=consequence, file=prefix + name)
                yield Finding(prefix + name, stray)


def _suspects(names: Mapping[str, int]) -> list[str]:
    """Temporary files, and checksums that are not `.<name>.crc` of a file here. In bulk: there may be 100,000 names."""
    owners = {name[1:-4] for name in names if name.endswith((".crc", ".tmp"))} - names.keys()
    return sorted(name for name in names if name[1:-4] in owners and name.endswith((".crc", ".tmp"))) if owners else []


def _stray_consequence(directory: str) -> Reason:
    if directory in ("offsets", "commits") or directory.endswith("/v2"):
        # Seen on 4.2: FileContextBasedCheckpointFileManager fails, FileSystemBasedCheckpointFileManager overwrites it.
        return messages.CRC_FAILS()
    return messages.CRC_MISLEADS()


_TROUBLES: dict[str, Message] = {
    "state-missing": messages.STATE_MISSING,
    "state-torn": messages.STATE_TORN,
    "sst-missing": messages.SST_MISSING,
    "no-base": messages.NO_BASE,
}


def _state(checkpoint: Checkpoint, wanted: list[int], *, is_whole: bool) -> Iterator[Finding]:
    for operator in checkpoint.operators:
        yield from _described(checkpoint, operator)
        yield from _partitions(checkpoint, operator)
        yield from _ahead(checkpoint, operator)
        for store in operator.stores:
            yield from _versions(checkpoint, store, wanted, is_whole)
    if not checkpoint.batches and any(store.versions for operator in checkpoint.operators for store in operator.stores):
        what, remedy = messages.STATE_WITHOUT_LOG(), messages.RESTORE_LOG_OR_STATE_ASIDE()
        yield Finding("state", messages.STATE_AHEAD(what=what, remedy=remedy))


def _described(checkpoint: Checkpoint, operator: Operator) -> Iterator[Finding]:
    path = checkpoint.operator_metadata_path(operator)
    if path is None:
        return
    metadata = checkpoint.operator_metadata(operator)
    if metadata is None:
        yield Finding(path, messages.OPERATOR_METADATA(operator=operator.id))
        return
    for schema in missing_schemas(checkpoint, metadata.schema_paths):
        yield Finding(schema, messages.SCHEMA_MISSING(path=path, operator=operator.id))
    outside = [schema for schema in metadata.schema_paths if inside_path(checkpoint, schema) is None]
    if outside:
        yield Finding(path, messages.COPIED(outside=outside[0]))


def _partitions(checkpoint: Checkpoint, operator: Operator) -> Iterator[Finding]:
    missing = checkpoint.missing_stores(operator)
    if missing and checkpoint.next_batch > 0:
        # One finding for all: a number that is garbage could make a hundred thousand of them.
        partition, name = missing[0]
        what: list[Reason] = [messages.PARTITION_MISSING(partition=partition, store=name, operator=operator.id)]
        if len(missing) > 1:
            what.append(messages.MORE_LIKE_IT(count=len(missing) - 1))
        directory = f"state/{operator.id}/{partition}" + ("" if name == "default" else f"/{name}")
        consequence = messages.NEXT_BATCH_FAILS(batch=checkpoint.next_batch)
        yield Finding(
            directory, messages.STATE_MISSING(what=what, consequence=consequence, remedy=messages.REWIND_OR_RESTORE())
        )


def _ahead(checkpoint: Checkpoint, operator: Operator) -> Iterator[Finding]:
    """Batch L writes version L+1: nothing above it can belong to this log."""
    if checkpoint.newest is None:
        return
    newest = checkpoint.newest
    for store in operator.stores:
        ahead = sorted(version for version in store.versions if version > newest + 1)
        if ahead:
            what = messages.VERSIONS_AHEAD(first=ahead[0], last=ahead[-1], newest=newest)
            aside = messages.STATE_ASIDE(version=newest + 1)
            yield Finding(store.path(store.versions[ahead[0]][0]), messages.STATE_AHEAD(what=what, remedy=aside))
    for batch in sorted(b for b in operator.metadata_log.sizes if b > newest):
        what = messages.OPERATOR_METADATA_AHEAD(batch=batch, newest=newest)
        yield Finding(operator.metadata_log.path(batch), messages.STATE_AHEAD(what=what, remedy=messages.MOVE_ASIDE()))


def _versions(checkpoint: Checkpoint, store: StoreFiles, wanted: list[int], is_whole: bool) -> Iterator[Finding]:
    needed = checkpoint.next_batch
    if needed > 0 and (trouble := checkpoint.state_trouble(store, needed)) is not None:
        yield _trouble(store, trouble, messages.NEXT_BATCH_FAILS(batch=needed), messages.REWIND_OR_RESTORE())
    # What the newest batch may have begun to write, and what is ahead, was judged already.
    held = (version for version in store.versions if version < needed)
    asked = held if is_whole else (batch for batch in wanted if batch < needed and batch in store.versions)
    for version in sorted(asked):
        trouble = checkpoint.state_trouble(store, version)
        if trouble is not None:
            yield _trouble(store, trouble, messages.REWIND_NEEDS_IT(batch=version), messages.REWIND_ELSEWHERE())


def _trouble(store: StoreFiles, trouble: Trouble, consequence: Reason, remedy: Reason) -> Finding:
    what = messages.IN_STORE(store=store.label, what=trouble.what)
    return Finding(trouble.file, _TROUBLES[trouble.code](what=what, consequence=consequence, remedy=remedy))
