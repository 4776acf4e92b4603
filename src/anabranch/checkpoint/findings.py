"""What is wrong with a checkpoint: the file, what Spark would do with it, and the remedy.

The listing is judged whole; texts are read only of the batches that are asked for, since reading 10,000 takes a second.
The state is judged in state_findings.py. Nothing here decides what can be rewound to: that is restartable.py.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import pairwise

from anabranch.checkpoint import messages
from anabranch.checkpoint.checkpoint import Checkpoint
from anabranch.checkpoint.finding import Finding
from anabranch.checkpoint.layout import LogFiles, is_temporary, log_offset
from anabranch.checkpoint.state_findings import state_findings
from anabranch.errors import Reason


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
        *state_findings(checkpoint, wanted, is_whole=batches is None),
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
