"""Carries out a shift, step by step, and takes an unfinished one back. Each step may be done again: what is done is skipped.

A crash between any two leaves a checkpoint that starts as before, or one whose fence no query starts over; from there
`apply` goes on and `roll_back` returns. Where the fence lies tells which is open, never a guess.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import assert_never

from anabranch.errors import Failed, Refused
from anabranch.operations.change import (
    JOURNAL,
    ChangeSink,
    CheckpointChange,
    CloseJournal,
    DeleteRows,
    LeaveSink,
    LowerFence,
    MoveFiles,
    OpenJournal,
    RaiseFence,
    RestoreRows,
    SinkPart,
    Step,
    Tables,
    WriteManifest,
    fingerprint,
    steps,
    steps_back,
)
from anabranch.operations.fence import UNREADABLE, is_fence, refusal, under_way
from anabranch.storage.local import Storage

# Done, of how many.
Progress = Callable[[int, int], None]
# Files between two steps of progress.
_GROUP = 1000


@dataclass(frozen=True)
class Shifting:
    change: CheckpointChange
    # What the journal says: the whole plan, so that whoever finds it can go on.
    journal: str
    storage: Storage
    tables: Tables
    progress: Progress

    def apply(self) -> None:
        """From the beginning, or from where it was interrupted. Refuses if the checkpoint is not the one planned for."""
        if self._was_taken_back():
            raise Refused(f"{self.change.operation} was taken back: there is nothing to go on with.", "plan a new rewind")
        *until_committed, close = steps(self.change)
        if not self.is_committed():
            for step in until_committed:
                self._do(step)
                if isinstance(step, RaiseFence):
                    self._check_ground()
        self._do(close)

    def roll_back(self) -> None:
        """Takes an unfinished shift back to where it began."""
        if self.is_committed():
            raise Refused(
                f"{self.change.operation} has finished.", f"anabranch undo {self.change.operation}   is an operation of its own"
            )
        if not self._is_own(under_way(self.storage)):
            # It never began, or all is back: a fence, if there is one, is another's.
            return
        moved = [move for move in self.change.moves if self._is_moved(move)]
        # Without a fence nothing was moved yet, or all is back: only the journal is left to close.
        for step in steps_back(self.change, moved) if self._is_fenced() else steps_back(self.change, moved)[-1:]:
            self._do(step)

    def is_committed(self) -> bool:
        """Whether the fence came down over the new tree: from there on it is the checkpoint."""
        return self.storage.holds(self.change.committed)

    def _was_taken_back(self) -> bool:
        return self.storage.holds(self.change.rolled_back) or self.storage.holds(self.change.given_up)

    def _is_fenced(self) -> bool:
        return is_fence(self.storage, self.change.fence)

    def _is_moved(self, move: tuple[str, str]) -> bool:
        """By this shift: only a shift puts files aside, where they belong others may come and go."""
        source, target = move
        return self.storage.holds(target) and not (self.change.is_back and self.storage.holds(source))

    def _is_own(self, operation: str | None) -> bool:
        if operation == UNREADABLE:
            raise Failed(
                f"{JOURNAL} in {self.storage.path} cannot be read: it does not say which operation is under way there.",
                f"if it is this one, put .anabranch/operations/{self.change.operation}/plan.json in its place; then again",
            )
        return operation == self.change.operation

    def _check_own_journal(self) -> None:
        other = under_way(self.storage)
        if not self._is_own(other):
            # None: it has just ended, and left another tree.
            raise refusal(other, f"{self.change.operation} cannot begin") if other else self._moved()

    def _check_ground(self) -> None:
        """Behind the fence nothing can start any more; what came before it shows now, as long as nothing is moved."""
        first = next(self.change.moves, None)
        if first is not None and self._is_moved(first):
            return
        listing, _ = self.storage.list()
        if fingerprint(listing, [self.change.fence]) != self.change.before:
            self.roll_back()
            raise self._moved()

    def _moved(self) -> Refused:
        return Refused(
            f"the checkpoint is not the one that {self.change.operation} was planned for: files came or went since.",
            "make sure that no query runs on it, and plan again",
        )

    def _do(self, step: Step) -> None:
        match step:
            case OpenJournal():
                if not self.storage.create(JOURNAL, self.journal.encode()):
                    self._check_own_journal()
            case RaiseFence(path, text):
                if not self.storage.create(path, text.encode()) and not self._is_fenced():
                    # A query has planned that batch in between.
                    self.roll_back()
                    raise self._moved()
            case MoveFiles(moves):
                self._move(moves, self.progress)
                # All of them: some may have been moved back before a crash.
                self._settle(self.change.moves)
            case ChangeSink(part):
                self._change(part)
            case WriteManifest(path):
                about = {"files": len(self.change.paths), "aside": self.change.aside, "after": self.change.after}
                self.storage.create(path, json.dumps(about, indent=2).encode())
            case LowerFence(path, target):
                self._move([(path, target)])
                self._settle([(path, target)])
            case CloseJournal(target):
                if under_way(self.storage) == self.change.operation:
                    self._move([(JOURNAL, target)])
                    self._settle([(JOURNAL, target)])
            case _:
                assert_never(step)

    def _change(self, part: SinkPart) -> None:
        match part:
            case DeleteRows(rows):
                self.tables.delete_rows(rows)
            case RestoreRows(rows):
                self.tables.restore_rows(rows)
            case LeaveSink():
                pass
            case _:
                assert_never(part)

    def _move(self, moves: Sequence[tuple[str, str]], progress: Progress = lambda _done, _total: None) -> None:
        for number, (source, target) in enumerate(moves):
            if number % _GROUP == 0:
                progress(number, len(moves))
            try:
                self.storage.move(source, target)
            except (FileNotFoundError, FileExistsError):
                # Moved already, before a crash; or something that nobody foresaw.
                if self.storage.holds(source) or not self.storage.holds(target):
                    raise Failed(
                        f"{source} cannot be moved to {target}: somebody else changed the checkpoint.",
                        f"put that file right, then anabranch resume {self.change.operation}",
                        f"or anabranch undo {self.change.operation}   takes back what was moved",
                    ) from None
        progress(len(moves), len(moves))

    def _settle(self, moves: Iterable[tuple[str, str]]) -> None:
        """What was moved stays moved: the sink must not change, nor the fence come down, before that is sure."""
        touched = {path.rpartition("/")[0] for move in moves for path in move}
        self.storage.sync(sorted({directory for one in touched for directory in _with_new_ones_above(one)}))


def _with_new_ones_above(directory: str) -> Iterable[str]:
    """New directories are entries of their parents, so these count as well."""
    yield directory
    while directory.startswith("_rewind"):
        directory = directory.rpartition("/")[0]
        yield directory
