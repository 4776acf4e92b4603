"""What is wrong with a checkpoint: the file, what Spark would do with it, and the remedy.

The logs are judged here, the state in findings_state.py. The listing is judged whole; texts are read of the batches that are
asked for, since reading 10,000 takes a second. Nothing here decides what can be rewound to: that is possible.py.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import pairwise

from anabranch.checkpoint.checkpoint import Checkpoint
from anabranch.checkpoint.files import LogFiles, is_temporary
from anabranch.checkpoint.finding import Finding
from anabranch.checkpoint.sources import log_offset
from anabranch.checkpoint.state_findings import state_findings

_FAILS = "a start fails on it"


def findings(checkpoint: Checkpoint, batches: Collection[int] | None = None) -> list[Finding]:
    """`batches`: those whose texts and state are looked at; None: all."""
    # Also a commit without offsets is looked at.
    looked_at = sorted({*checkpoint.batches, *checkpoint.commits.sizes} if batches is None else batches)
    found = [
        *_unfinished(checkpoint),
        *_unreadable(checkpoint),
        *_query_id(checkpoint),
        *_logs(checkpoint, looked_at),
        *_order(checkpoint),
        *_sources(checkpoint),
        *state_findings(checkpoint, looked_at, is_whole=batches is None),
        *_strays(checkpoint),
    ]
    # A file that is in the way of many batches is named once, for the one that matters most.
    return list({(one.code, one.file): one for one in reversed(found)}.values())[::-1]


def _unfinished(checkpoint: Checkpoint) -> Iterator[Finding]:
    remedy = "anabranch operations names the operation; anabranch resume ID finishes it, anabranch undo ID takes it back"
    if checkpoint.fence is not None:
        what = "a fence: an operation on this checkpoint did not finish. Every start fails with INVALID_LOG_VERSION"
        yield Finding("fence", checkpoint.fence, what, remedy)
    for journal in checkpoint.journals:
        yield Finding("journal", journal, "the journal of an operation that did not finish; Spark does not see it", remedy)


def _unreadable(checkpoint: Checkpoint) -> Iterator[Finding]:
    for directory in checkpoint.unreadable:
        what = f"this directory cannot be listed; {_FAILS} unless it runs as another user"
        yield Finding("unreadable", directory, what, f"look as the user that runs the query, or: chmod -R u+rX {directory}")


def _query_id(checkpoint: Checkpoint) -> Iterator[Finding]:
    if "metadata" not in checkpoint.listing.get("", {}):
        if checkpoint.batches:
            what = "it is gone: the query's id is in it. Spark refuses to start on a log without it"
            yield Finding("metadata-missing", "metadata", what, _NEW_ID)
    elif checkpoint.query_id is None:
        yield Finding("metadata-broken", "metadata", f"no query id can be read from it; {_FAILS}", _NEW_ID)


_NEW_ID = (
    'bring it back from a backup, or write a new id: {"id":"<uuid>"}, and remove .metadata.crc. '
    "A Delta sink takes a new id for a new query: batches that were written already are written again"
)


def _logs(checkpoint: Checkpoint, looked_at: list[int]) -> Iterator[Finding]:
    for batch in looked_at:
        for log, entry in ((checkpoint.offsets, checkpoint.offset_entry), (checkpoint.commits, checkpoint.commit_entry)):
            if batch in log:
                yield from _entry(checkpoint, log, batch, entry(batch) is None)


def _entry(checkpoint: Checkpoint, log: LogFiles, batch: int, is_broken: bool) -> Iterator[Finding]:
    path = log.path(batch)
    if is_broken:
        text = checkpoint.contents.text(path)
        code, how = ("log-broken", "is cut off, or no entry of this log") if text else ("log-empty", "is empty")
        if text is None:
            code, how = "unreadable", "cannot be read"
        yield Finding(code, path, f"it {how}. {_fate(checkpoint, log, batch)}", _set_back(log, batch))
    elif _is_read_at_start(checkpoint, log, batch) and checkpoint.contents.fits_checksum(path) is False:
        # Seen on 4.2: FileSystemBasedCheckpointFileManager fails, Spark's default one reads what is there.
        what = f"it was changed after Spark wrote it: its checksum .{batch}.crc does not fit. A start may fail on that"
        remedy = f"bring back what it held; if the change is meant, remove {log.directory}/.{batch}.crc"
        yield Finding("checksum", path, what, remedy)


def _is_read_at_start(checkpoint: Checkpoint, log: LogFiles, batch: int) -> bool:
    newest = log.newest if log is checkpoint.commits else checkpoint.newest
    return newest is not None and batch in (newest, newest - 1)


def _fate(checkpoint: Checkpoint, log: LogFiles, batch: int) -> str:
    if _is_read_at_start(checkpoint, log, batch):
        return "A start reads it and fails"
    return "A start does not read it, a rewind near it would"


def _set_back(log: LogFiles, batch: int) -> str:
    return f"bring {log.path(batch)} back from a backup, or rewind to a batch that is possible: --all shows which"


def _order(checkpoint: Checkpoint) -> Iterator[Finding]:
    """The two logs, each in itself and against each other."""
    yield from _gaps(checkpoint.offsets)
    yield from _gaps(checkpoint.commits)
    yield from _commits_without_offsets(checkpoint)
    newest, committed = checkpoint.newest, checkpoint.commits.newest
    if newest is None:
        return
    if committed is not None and committed < newest - 1:
        what = f"the newest commit is {committed}, the newest batch {newest}: Spark warns and runs only {newest} again"
        remedy = (
            f"find out what took the commits {committed + 1} to {newest - 1}; rewind to {committed + 1} to run them all again"
        )
        yield Finding("commits-behind", f"commits/{newest - 1}", what, remedy)
    entry = checkpoint.offset_entry(newest)
    if entry is not None and entry.version == 2 and newest not in checkpoint.commits:
        what = "an unfinished batch of an offset log of version 2: Spark 4.2.0 cannot start it (None.get)"
        remedy = "set spark.sql.streaming.checkUnfinishedRepartitionOnRestart=false, or rewind with --replan"
        yield Finding("unfinished-version-2", checkpoint.offsets.path(newest), what, remedy)


def _commits_without_offsets(checkpoint: Checkpoint) -> Iterator[Finding]:
    newest = checkpoint.newest
    # Below the oldest entry the commits may be purged a moment later than the offsets.
    oldest = checkpoint.batches[0] if newest is not None else -1
    for batch in sorted(batch for batch in checkpoint.commits.sizes.keys() - checkpoint.offsets.sizes.keys() if batch > oldest):
        if newest is None:
            what = "Spark takes this for a new query, runs batch 0 into the sink, and fails where a commit is in its way"
        elif batch > newest:
            what = "Spark runs the newest planned batch again, into the sink, and fails at its commit"
        else:
            what = "A start does not read it"
        remedy = f"bring offsets/{batch} back, or move this commit and its .crc aside if the batch is to run again"
        yield Finding("commit-without-offsets", checkpoint.commits.path(batch), f"a commit without offsets. {what}", remedy)


def _gaps(log: LogFiles) -> Iterator[Finding]:
    numbers = sorted(log.sizes)
    for before, after in pairwise(numbers):
        if after > before + 1:
            first, last = before + 1, after - 1
            which = f"{first} is" if first == last else f"{first} to {last} are"
            fails = log.directory == "offsets" and after == numbers[-1]
            what = f"{which} gone" + (": a start reads the last two entries and fails" if fails else "; a start does not mind")
            remedy = "bring them back from a backup; asynchronous progress tracking leaves such gaps by itself"
            yield Finding("gap", f"{log.directory}/{first}", what, remedy)


def _sources(checkpoint: Checkpoint) -> Iterator[Finding]:
    """A file source writes its own log first, so it may be one entry ahead of the offsets; not more."""
    entry = checkpoint.offset_entry(checkpoint.newest) if checkpoint.newest is not None else None
    for place, source in enumerate(entry.sources if entry else ()):
        end, log = log_offset(source), checkpoint.source_log(place, entry.sources if entry else ())
        if end is None or log is None:
            continue
        newest = max(log.newest if log.newest is not None else -1, max(log.compacts, default=-1))
        if newest > end + 1:
            what = f"the log of the files is at {newest}, the offsets are at {end}: all of it becomes one batch"
            remedy = f"if the offsets were taken back by hand: move the entries above {end} aside as well, with their .crc"
            yield Finding("source-ahead", log.path(newest), what, remedy)


def _strays(checkpoint: Checkpoint) -> Iterator[Finding]:
    for directory, names in checkpoint.listing.items():
        if directory.startswith("_rewind"):
            continue
        prefix = f"{directory}/" if directory else ""
        for name in _suspects(names):
            if is_temporary(name):
                what = "a temporary file of a write that did not end; Spark does not see it"
                yield Finding("temporary", prefix + name, what, "once no query runs here, it can be removed")
            elif name.endswith(".crc") and (owner := name.removeprefix(".")[:-4]) not in names:
                yield Finding("stray-crc", prefix + name, _stray(directory, owner), f"remove {prefix}{name}")


def _suspects(names: Mapping[str, int]) -> list[str]:
    """Temporary files, and checksums that are not `.<name>.crc` of a file here. In bulk: there may be 100,000 names."""
    owners = {name[1:-4] for name in names if name.endswith((".crc", ".tmp"))} - names.keys()
    return sorted(name for name in names if name[1:-4] in owners and name.endswith((".crc", ".tmp"))) if owners else []


def _stray(directory: str, owner: str) -> str:
    what = f"a checksum without its file {owner}"
    if directory in ("offsets", "commits") or directory.endswith("/v2"):
        # Seen on 4.2: FileContextBasedCheckpointFileManager fails, FileSystemBasedCheckpointFileManager writes over it.
        why = "multiple streaming queries are concurrently using ..."
        return f"{what}. Spark's default file manager fails when it comes to write that file ({why})"
    return f"{what}: what Spark writes under that name later may fail its check"
