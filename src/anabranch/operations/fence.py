"""Changes a checkpoint behind a fence, which no query starts over; and rolls an unfinished change back.

A crash between any two steps leaves a checkpoint that starts as before, or one whose fence stands. From there `apply`
continues and `roll_back` returns. Each step may be repeated: what is done is skipped. The place of the fence tells which of
the two is open, never a guess (docs/internals/rewinding.md). Until then nothing may use the checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from anabranch.checkpoint.layout import FENCE
from anabranch.checkpoint.reader import read_logs
from anabranch.errors import AnabranchError, Refused
from anabranch.operations import messages
from anabranch.operations.change import JOURNAL, CheckpointChange, SinkChange, fingerprint
from anabranch.storage.base import Move, MoveConflict, OnProgress, Storage
from anabranch.storage.files import parse
from anabranch.storage.messages import MOVE_CONFLICT

_MOST_JOURNAL_BYTES = 1 << 30
# A fence is one short line; a log entry may be large, and is none.
_FENCE_BYTES = 64 << 10
_FENCE_CONTENT = f"{FENCE}\n".encode()


def under_way(storage: Storage, what: str) -> str | None:
    """The id of the operation whose journal is open. Refuses, with what cannot be done now, if the journal does not say."""
    content = storage.read(JOURNAL, _MOST_JOURNAL_BYTES)
    if content is None:
        return None
    journal = f"{storage.path}/{JOURNAL}"
    try:
        found = parse(content.decode("utf-8", errors="replace"), journal)
    except AnabranchError as error:
        raise _unreadable(what, journal, error.text) from None
    # Whatever its format: the id stands where every version has put it.
    change = found.get("change", found.get("shift"))
    if not isinstance(change, dict) or not isinstance(change.get("operation"), str):
        raise _unreadable(what, journal, "it names no operation")
    return str(change["operation"])


def _unreadable(what: str, journal: str, reason: str) -> Refused:
    return messages.JOURNAL_UNREADABLE(what=what, journal=journal, reason=reason)


def is_fence(storage: Storage, path: str) -> bool:
    content = storage.read(path, _FENCE_BYTES)
    return content is not None and content.startswith(FENCE.encode())


def fenced_by(storage: Storage, what: str) -> str | None:
    """The operation whose fence stands there: what the checkpoint holds is neither the old state nor the new one."""
    fence = read_logs(storage).fence
    if fence is None:
        return None
    operation = under_way(storage, what)
    if operation is None:
        raise messages.FENCE_WITHOUT_JOURNAL(what=what, fence=f"{storage.path}/{fence}")
    return operation


def check_not_fenced(storage: Storage, what: str) -> None:
    if (operation := fenced_by(storage, what)) is not None:
        raise not_finished(operation, what)


def not_finished(operation: str, what: str) -> Refused:
    return messages.NOT_FINISHED(what=what, operation=operation)


def _nothing() -> None:
    """A checkpoint that is not ours has no history."""


def silent(_done: int, _total: int) -> None:
    """No progress is shown."""


@dataclass(frozen=True)
class Application:
    change: CheckpointChange
    # The whole plan: enough to resume it from the journal alone.
    journal: str
    storage: Storage
    # Carries out the sink's part; may be called again.
    change_sink: Callable[[SinkChange], None]
    progress: OnProgress = silent
    # The line in the history of batches, written before the fence comes down; and its opposite.
    write_history: Callable[[], None] = _nothing
    take_back_history: Callable[[], None] = _nothing

    def apply(self) -> None:
        """From the beginning, or from where it was interrupted. Refuses if the checkpoint is not the one planned for."""
        change = self.change
        if self._was_rolled_back():
            raise messages.ROLLED_BACK(operation=change.operation)
        if not self.is_committed():
            self._open_journal()
            self._raise_fence()
            self._check_not_stale()
            self._move(list(change.moves), self.progress)
            self.change_sink(change.sink)
            self.write_history()
            # The commit point: from here on the new tree is the checkpoint.
            self._move([(change.fence, change.committed)])
        self._close_journal(change.finished)

    def roll_back(self) -> None:
        """Takes an unfinished change back to where it began."""
        change = self.change
        if self.is_committed():
            raise messages.ALREADY_DONE(operation=change.operation)
        if not self._is_under_way():
            # It never began, or all is back: a fence, if there is one, is another operation's.
            return
        if is_fence(self.storage, change.fence):
            self.change_sink(change.sink.opposite)
            moved = {target for source, target in change.moves if self._is_moved((source, target))}
            self._move([move for move in change.moves_back if move[0] in moved], self.progress)
            self.take_back_history()
            self._move([(change.fence, change.fence_rolled_back)])
        self._close_journal(change.rolled_back)

    def is_committed(self) -> bool:
        """Whether the fence came down over the new tree."""
        return self.storage.holds(self.change.committed)

    def _was_rolled_back(self) -> bool:
        return self.storage.holds(self.change.rolled_back) or self.storage.holds(self.change.fence_rolled_back)

    def _is_under_way(self) -> bool:
        return under_way(self.storage, f"{self.change.operation} cannot continue") == self.change.operation

    def _is_moved(self, move: Move) -> bool:
        """By this change: only an operation moves files aside, elsewhere others may create and remove them."""
        source, target = move
        return self.storage.holds(target) and not (self.change.is_back and self.storage.holds(source))

    def _open_journal(self) -> None:
        if self.storage.create(JOURNAL, self.journal.encode()):
            return
        cannot = f"{self.change.operation} cannot begin"
        other = under_way(self.storage, cannot)
        if other is None:
            # It has just ended, and left another tree.
            raise messages.PLAN_STALE(operation=self.change.operation)
        if other != self.change.operation:
            raise not_finished(other, cannot)

    def _raise_fence(self) -> None:
        fence = self.change.fence
        if not self.storage.create(fence, _FENCE_CONTENT) and not is_fence(self.storage, fence):
            # A query has planned that batch in between.
            self.roll_back()
            raise messages.PLAN_STALE(operation=self.change.operation)

    def _check_not_stale(self) -> None:
        """Behind the fence nothing can start any more; what happened before it shows now, as long as nothing is moved."""
        first = next(self.change.moves, None)
        if first is not None and self._is_moved(first):
            return
        listing, _ = self.storage.list()
        if fingerprint(listing, [self.change.fence]) != self.change.before:
            self.roll_back()
            raise messages.PLAN_STALE(operation=self.change.operation)

    def _close_journal(self, target: str) -> None:
        if self._is_under_way():
            self._move([(JOURNAL, target)])

    def _move(self, moves: list[Move], progress: OnProgress = silent) -> None:
        try:
            self.storage.move_all(moves, progress)
        except MoveConflict as conflict:
            raise MOVE_CONFLICT(
                source=conflict.source, target=conflict.target, path=self.storage.path, operation=self.change.operation
            ) from None
        # What was moved stays moved: the sink must not change, nor the fence come down, before that is durable.
        touched = {path.rpartition("/")[0] for move in moves for path in move}
        self.storage.sync(sorted({directory for one in touched for directory in _with_new_ones_above(one)}))


def _with_new_ones_above(directory: str) -> Iterable[str]:
    """New directories are entries of their parents, so these count as well."""
    yield directory
    while directory.startswith("_rewind"):
        directory = directory.rpartition("/")[0]
        yield directory
