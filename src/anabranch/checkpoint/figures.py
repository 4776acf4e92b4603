"""What a history says: the batches that count, their figures as far as they can be trusted, and how many rows in a second.

Functions on entries. What is not known is None, never 0: a history may be gone, torn, behind its checkpoint or of another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice, pairwise

from anabranch.checkpoint import messages
from anabranch.checkpoint.checkpoint import Checkpoint
from anabranch.checkpoint.history import HistoryEntry, WatermarkJump
from anabranch.errors import Reason
from anabranch.text.format import format_duration

# Over how long rows in a second are averaged; and over how many batches at most, so that a fast query is no slower to show.
RATE_S = 300.0
_MOST_RATED = 500


@dataclass(frozen=True)
class Figures:
    """Over all batches that count. None: not known."""

    records: int | None
    problems: int | None
    # None also: the pipeline has no watermark.
    late: int | None
    # Batches that count and are not in these figures: they are a lower bound then.
    uncounted_batches: int | None
    # Late records are counted from this batch on.
    late_from: int | None
    # Whether they are exact, but for the batches that were not counted.
    exact: bool | None
    # The newest.
    jump: Jump | None


UNKNOWN = Figures(None, None, None, None, None, None, None)


def figures_of(entry: HistoryEntry, *, drops_late: bool, lost: int = 0) -> Figures:
    """`lost`: batches behind the entry that left no line."""
    return Figures(
        records=entry.total_records,
        problems=entry.total_problems,
        late=entry.total_late if drops_late and _has_counted_late(entry) else None,
        uncounted_batches=entry.uncounted + lost,
        late_from=entry.late_from,
        exact=entry.is_exact,
        jump=jump_of(entry.jump) if entry.jump else None,
    )


def _has_counted_late(entry: HistoryEntry) -> bool:
    has_not = entry.ran is not None and entry.ran.is_counted and entry.ran.late is None
    return entry.late_from <= max(0, entry.batch) and not has_not


def newest_ended(checkpoint: Checkpoint, entry: HistoryEntry | None) -> int | None:
    """The newest batch that has ended. Those before the newest planned one have, also where their commits were lost.

    Behind a fence the checkpoint is half done: then the newest entry of its history says what counts.
    """
    if checkpoint.fence is not None and entry is not None:
        return entry.batch
    committed, planned = checkpoint.commits.newest, checkpoint.newest
    ended = max(-1 if committed is None else committed, -1 if planned is None else planned - 1)
    return ended if ended >= 0 else None


def judge_history(entry: HistoryEntry | None, ended: int | None, path: str) -> Reason | None:
    """Why the figures of its newest entry are not those of a checkpoint whose newest batch that has ended is this."""
    newest = -1 if ended is None else ended
    if entry is None:
        return None if newest < 0 else messages.HISTORY_MISSING(path=path, newest=newest)
    return messages.HISTORY_AHEAD(path=path, batch=entry.batch, newest=newest) if entry.batch > newest else None


def lost_behind(entry: HistoryEntry, ended: int | None, *, is_running: bool) -> int:
    """Batches that have ended and have no line. That of the newest may be under way while the query runs."""
    behind = max(0, (-1 if ended is None else ended) - entry.batch)
    return 0 if is_running and behind == 1 else behind


def counting(newest_first: Iterable[HistoryEntry]) -> Iterator[HistoryEntry]:
    """Newest first: one entry for each batch that counts, and those of all operations, which have no `ran`."""
    below: int | None = None
    undone: str | None = None
    for entry in newest_first:
        counts = undone is None
        if not counts:
            undone = None if entry.operation == undone else undone
        elif entry.operation is not None:
            undone = entry.undoes
            below = entry.batch + 1 if below is None else min(below, entry.batch + 1)
        if entry.operation is not None:
            yield entry
        elif counts and (below is None or entry.batch < below):
            yield entry
            below = entry.batch


def rows_per_s(newest_first: Iterable[HistoryEntry], now_s: float) -> float | None:
    """Over the last minutes; None: not known, a batch was not counted, or clocks differ."""
    batches = (entry for entry in counting(newest_first) if entry.ran is not None)
    rows, first_s, before = 0, now_s, None
    for entry in islice(batches, _MOST_RATED):
        assert entry.ran is not None
        at_s, read = moment_s(entry.ran.at), entry.ran.records
        if at_s is not None and at_s < now_s - RATE_S:
            return rows / RATE_S
        if at_s is None or at_s > now_s or read is None or (before is not None and entry.batch != before - 1):
            return None
        rows, first_s, before = rows + read, at_s, entry.batch
    return rows / max(1.0, now_s - first_s)


@dataclass(frozen=True)
class Period:
    # Oldest first: the batches that count, and the operations.
    entries: list[HistoryEntry]
    torn_lines: int
    # Whether the history begins before it.
    is_whole: bool

    @property
    def batches(self) -> list[HistoryEntry]:
        return [entry for entry in self.entries if entry.ran is not None]

    @property
    def lost(self) -> list[range]:
        """The batches between two that count, whose lines were lost."""
        pairs = pairwise(entry.batch for entry in self.batches)
        return [range(one + 1, other) for one, other in pairs if other > one + 1]


def period_since(newest_first: Iterator[HistoryEntry | None], since_s: float, begun_s: Callable[[str], float | None]) -> Period:
    """No more lines are taken than it needs. `begun_s`: when an operation began, as its id says."""
    torn, is_whole = 0, False

    def within() -> Iterator[HistoryEntry]:
        nonlocal torn, is_whole
        for entry in newest_first:
            if entry is None:
                torn += 1
                continue
            at_s = moment_s(entry.ran.at) if entry.ran is not None else begun_s(entry.operation or "")
            if at_s is not None and at_s < since_s:
                is_whole = True
                return
            yield entry

    entries = list(counting(within()))[::-1]
    return Period(entries, torn, is_whole)


def moment_s(text: str) -> float | None:
    """None: no calendar has it."""
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


@dataclass(frozen=True)
class Jump:
    """A jump of the watermark, as it is shown."""

    batch: int
    before: str
    after: str
    size_s: float | None
    # TOPIC:PARTITION:OFFSET of the record that made it. None: not known.
    record: str | None
    event_time: str | None

    def describe(self) -> Reason:
        by = (
            messages.JUMP_MOVED_BY_UNKNOWN()
            if self.record is None
            else messages.JUMP_MOVED_BY(record=self.record, event_time=self.event_time)
        )
        return messages.WATERMARK_JUMPED(size=self._size, before=self.before, after=self.after, batch=self.batch, by=by)

    def in_short(self) -> Reason:
        """For a line that has more to say."""
        record = self.record or messages.JUMP_MOVED_BY_UNKNOWN()
        return messages.JUMP_SHORT(size=self._size, batch=self.batch, record=record)

    @property
    def _size(self) -> str:
        return "?" if self.size_s is None else format_duration(self.size_s)


def jump_of(jump: WatermarkJump) -> Jump:
    before_s, after_s = moment_s(jump.before), moment_s(jump.after)
    size_s = None if before_s is None or after_s is None else after_s - before_s
    record, event_time = (jump.moved_by.record, jump.moved_by.at) if jump.moved_by else (None, None)
    return Jump(jump.batch, jump.before, jump.after, size_s, record, event_time)
