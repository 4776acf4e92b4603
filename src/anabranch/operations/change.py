"""The change of a checkpoint as a value: files moved aside, or back, together with what happens at the sink.

Rewind and undo both are one. operations/fence.py carries it out behind a fence (docs/internals/rewinding.md); explain renders
the same value. Nothing here touches anything.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from anabranch.checkpoint.layout import Listing
from anabranch.errors import Reason

# One name for all operations: it is created exclusively, so that only one can be under way.
JOURNAL = "_rewind/journal.json"
# Topic -> partition -> two offsets.
OffsetPairs = Mapping[str, Mapping[str, tuple[int, int]]]


@dataclass(frozen=True)
class SinkChange:
    """What happens at the sink. The policy of its kind (streaming/sinks) made it and carries it out."""

    kind: str
    action: Literal["leave", "take back", "put back"]
    # What that does, and what the opposite does: for the plan's text.
    effect: Reason
    undo_effect: Reason
    # What the policy needs to carry it out.
    params: Mapping[str, Any]

    @property
    def opposite(self) -> SinkChange:
        actions: dict[str, Literal["leave", "take back", "put back"]] = {"take back": "put back", "put back": "take back"}
        action = actions.get(self.action, "leave")
        return replace(self, action=action, effect=self.undo_effect, undo_effect=self.effect)


@dataclass(frozen=True)
class CheckpointChange:
    operation: str
    # Where what is moved aside is kept: `_rewind/<the rewind's id>`. An undo moves back from there.
    aside: str
    is_back: bool
    # In the order in which they are moved aside.
    paths: tuple[str, ...]
    # Created above everything else in offsets/: every start fails on it.
    fence: str
    sink: SinkChange
    # Fingerprints of the tree.
    before: str
    after: str

    @property
    def moves(self) -> Iterator[tuple[str, str]]:
        if self.is_back:
            return ((f"{self.aside}/{path}", path) for path in reversed(self.paths))
        return ((path, f"{self.aside}/{path}") for path in self.paths)

    @property
    def moves_back(self) -> Iterator[tuple[str, str]]:
        return ((target, source) for source, target in reversed(list(self.moves)))

    # Where the fence and then the journal end up: they tell how the operation ended, also after a crash.
    @property
    def committed(self) -> str:
        return f"_rewind/{self.operation}/fence"

    @property
    def finished(self) -> str:
        return f"_rewind/{self.operation}/journal.json"

    @property
    def fence_rolled_back(self) -> str:
        return f"_rewind/{self.operation}/fence.rolled-back"

    @property
    def rolled_back(self) -> str:
        return f"_rewind/{self.operation}/rolled-back.json"


def fingerprint(listing: Listing, without: Iterable[str] = ()) -> str:
    """Of all that Spark sees in a checkpoint: the names, and of state the sizes. Not of what is ours.

    Spark never writes into an existing file: whatever it does, a name comes or goes. The sizes of the logs and of checksums
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
