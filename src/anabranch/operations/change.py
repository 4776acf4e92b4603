"""A shift: files of a checkpoint moved aside, or back, together with what its sink holds. Rewind and undo are both one.

The steps and their order are those of checkpoint-rewind.md, 6: a crash before or after any of them leaves the old tree, or a
fence that no query starts over, and from there both ways are open. Nothing here touches anything: apply interprets the steps.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from anabranch.checkpoint.files import Listing
from anabranch.checkpoint.logs import FENCE

# One name for all operations: it is created exclusively, so that only one can be under way.
JOURNAL = "_rewind/journal.json"
# Topic -> partition -> two offsets.
Pairs = Mapping[str, Mapping[str, tuple[int, int]]]


@dataclass(frozen=True)
class LeaveSink:
    """Nothing is done at the sink; the words say why that is right, or what will be wrong."""

    words: str
    kind: Literal["untouched"] = "untouched"


@dataclass(frozen=True)
class WrittenRows:
    """The rows of a Delta table that the batches wrote, by their offsets, and the transaction that Delta knows them by."""

    table: str
    # The rewind that takes them out: its mark in the table's log tells whether they are out or in.
    rewind: str
    query_id: str
    # Half-open.
    ranges: Pairs
    count: int
    # The table when the plan was made.
    version: int
    # The newest batch that Delta has of the query, and the one it is set back to: it skips what it has seen (hazard G).
    newest: int
    set_back_to: int


@dataclass(frozen=True)
class DeleteRows:
    rows: WrittenRows
    kind: Literal["take out"] = "take out"


@dataclass(frozen=True)
class RestoreRows:
    rows: WrittenRows
    kind: Literal["put back"] = "put back"


SinkPart = LeaveSink | DeleteRows | RestoreRows


class Tables(Protocol):
    """What a shift does at a table; each of the two may be done again."""

    def delete_rows(self, rows: WrittenRows) -> None: ...
    def restore_rows(self, rows: WrittenRows) -> None: ...


class NoTables:
    """For a shift whose sink is left untouched."""

    def delete_rows(self, rows: WrittenRows) -> None:
        raise AssertionError(rows)

    def restore_rows(self, rows: WrittenRows) -> None:
        raise AssertionError(rows)


@dataclass(frozen=True)
class CheckpointChange:
    operation: str
    # Where what is moved aside lies: `_rewind/<the rewind's id>`. An undo moves back from there.
    aside: str
    is_back: bool
    # In the order in which they are moved aside.
    paths: tuple[str, ...]
    # Created above everything else in offsets/: every start fails on it.
    fence: str
    sink: SinkPart
    # Fingerprints of the tree.
    before: str
    after: str

    @property
    def moves(self) -> Iterator[tuple[str, str]]:
        if self.is_back:
            return ((f"{self.aside}/{path}", path) for path in reversed(self.paths))
        return ((path, f"{self.aside}/{path}") for path in self.paths)

    @property
    def record(self) -> str:
        """Where this operation's own journal, manifest and lowered fence end up."""
        return f"_rewind/{self.operation}"

    # Where the journal ends up, and before it the fence: they tell how the operation ended, also after a crash.
    @property
    def finished(self) -> str:
        return f"{self.record}/journal.json"

    @property
    def committed(self) -> str:
        return f"{self.record}/fence"

    @property
    def rolled_back(self) -> str:
        return f"{self.record}/rolled-back.json"

    @property
    def given_up(self) -> str:
        return f"{self.record}/fence.rolled-back"


# The steps, in their order; each is done or not done, never half.
@dataclass(frozen=True)
class OpenJournal:
    pass


@dataclass(frozen=True)
class RaiseFence:
    path: str
    text: str = f"{FENCE}\n"


@dataclass(frozen=True)
class MoveFiles:
    moves: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class ChangeSink:
    part: SinkPart


@dataclass(frozen=True)
class WriteManifest:
    path: str


@dataclass(frozen=True)
class LowerFence:
    """The commit point: from here on the new tree is the checkpoint."""

    path: str
    target: str


@dataclass(frozen=True)
class CloseJournal:
    target: str


Step = OpenJournal | RaiseFence | MoveFiles | ChangeSink | WriteManifest | LowerFence | CloseJournal


def steps(change: CheckpointChange) -> tuple[Step, ...]:
    return (
        OpenJournal(),
        RaiseFence(change.fence),
        MoveFiles(tuple(change.moves)),
        ChangeSink(change.sink),
        WriteManifest(f"{change.record}/manifest.json"),
        LowerFence(change.fence, change.committed),
        CloseJournal(change.finished),
    )


def steps_back(change: CheckpointChange, moved: Sequence[tuple[str, str]]) -> tuple[Step, ...]:
    """What takes an unfinished shift back that has moved so much: its fence is raised, or there is but the journal to close."""
    return (
        ChangeSink(opposite(change.sink)),
        MoveFiles(tuple((target, source) for source, target in reversed(moved))),
        LowerFence(change.fence, change.given_up),
        CloseJournal(change.rolled_back),
    )


def opposite(part: SinkPart) -> SinkPart:
    match part:
        case DeleteRows(rows):
            return RestoreRows(rows)
        case RestoreRows(rows):
            return DeleteRows(rows)
        case LeaveSink():
            return LeaveSink("left as it is: the rewind did nothing there")


def fingerprint(listing: Listing, without: Iterable[str] = ()) -> str:
    """Of all that Spark sees in a checkpoint: the names, and of state the sizes. Not of what is ours.

    Spark never writes into a file that is there: whatever it does, a name comes or goes. The sizes of the logs and of checksums
    are left out because measuring them takes longer than all the rest. `without`: as if these were gone; a directory stands
    for all that is in it.
    """
    gone = set(without)
    digest = hashlib.sha256()
    for directory in sorted(listing):
        if directory.startswith("_rewind") or directory.partition("/")[0] in gone:
            continue
        prefix = f"{directory}/" if directory else ""
        names = listing[directory]
        if directory.startswith("state/"):
            lines = [f"{name}\0{-1 if name.endswith('.crc') else names[name]}" for name in names if prefix + name not in gone]
        else:
            lines = [name for name in names if prefix + name not in gone]
        if lines:
            lines.sort()
            digest.update(f"{prefix}\0{len(lines)}\n".encode("utf-8", errors="surrogateescape"))
            digest.update("\n".join(lines).encode("utf-8", errors="surrogateescape"))
    return digest.hexdigest()


def change_from_json(record: Mapping[str, Any]) -> CheckpointChange:
    return CheckpointChange(**{**record, "paths": tuple(record["paths"]), "sink": _sink_part(record["sink"])})


def _sink_part(record: Mapping[str, Any]) -> SinkPart:
    match record["kind"]:
        case "take out":
            return DeleteRows(_rows(record["rows"]))
        case "put back":
            return RestoreRows(_rows(record["rows"]))
        case _:
            return LeaveSink(record["words"])


def _rows(record: Mapping[str, Any]) -> WrittenRows:
    return WrittenRows(**{**record, "ranges": pairs_from_json(record["ranges"])})


def pairs_from_json(record: Mapping[str, Any]) -> dict[str, dict[str, tuple[int, int]]]:
    """JSON knows no tuples."""
    return {
        topic: {partition: (int(one), int(other)) for partition, (one, other) in held.items()} for topic, held in record.items()
    }
