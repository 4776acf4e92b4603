"""Killed, torn, purged, rewound, undone: every committed batch counts once, with the ranges that the logs had."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from anabranch.checkpoint.checkpoint import Checkpoint
from anabranch.checkpoint.figures import counting
from anabranch.checkpoint.history import BatchRecord, append_batch, append_rewind, append_undo, newest_entry, newest_first
from anabranch.checkpoint.logged import Ranges, logged
from anabranch.checkpoint.reconcile import reconcile
from anabranch.storage.files import CheckpointLocation
from anabranch.text.format import iso_utc
from tests.support.drawing import Tree, checkpoint_of

BEGIN_MS = 1_757_606_666_015
# As many batches before the newest as Spark keeps here; a run that is killed has fewer without a line.
RETAINED = 4
FIRST = '{"visits":{"0":3}}'


class History(RuleBasedStateMachine):
    """Spark's part is a drawing, and what each batch read is remembered apart from it: the truth."""

    @initialize()
    def begin(self) -> None:
        self.directory = TemporaryDirectory()
        self.location = CheckpointLocation(Path(self.directory.name) / "console")
        self.copy = CheckpointLocation(Path(self.directory.name) / "copy")
        self.tree: Tree = {"sources/0/0": f"v1\n{FIRST}"}
        self.next, self.now_ms, self.number = 0, BEGIN_MS, 0
        self.truth: dict[int, Ranges] = {}
        self.ends: dict[int, int] = {-1: 3}
        # The rewind that can be undone: its id, and what it took away.
        self.undoable: tuple[str, Tree, dict[int, Ranges], dict[int, int]] | None = None

    @property
    def logs(self) -> Checkpoint:
        return checkpoint_of(self.tree)

    @rule(
        reads=st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=1, max_size=9),
        torn=st.integers(0, 40),
        is_killed=st.booleans(),
    )
    def run(self, reads: list[tuple[int, bool]], torn: int, is_killed: bool) -> None:
        """Of each batch how much it reads, and whether its event comes."""
        recorded = reconcile(self.location, self.logs)
        for read, has_event in reads:
            batch = self.next
            self._commit(read)
            # Spark itself still has the events that its bus has lost, but not of many batches.
            if has_event or batch - recorded >= RETAINED:
                recorded = reconcile(self.location, self.logs, below=batch)
                told = logged(self.logs, batch)
                append_batch(self.location, self._record(batch, told.ranges, told.planned_at))
                recorded = batch
        if is_killed and recorded == self.next - 1 and reads[-1][1]:
            self._tear(torn)
        if not is_killed:
            reconcile(self.location, self.logs)
        self.undoable = None

    def _commit(self, read: int) -> None:
        batch, self.now_ms = self.next, self.now_ms + 1000
        begin, end = self.ends[batch - 1], self.ends[batch - 1] + read
        head = {"batchWatermarkMs": 0, "batchTimestampMs": self.now_ms, "conf": {}}
        self.tree[f"offsets/{batch}"] = f'v1\n{json.dumps(head)}\n{{"visits":{{"0":{end}}}}}'
        self.tree[f"commits/{batch}"] = 'v1\n{"nextBatchWatermarkMs":0}'
        for log in ("offsets", "commits"):
            self.tree.pop(f"{log}/{batch - RETAINED - 1}", None)
        self.truth[batch], self.ends[batch] = {"visits": {0: (begin, end)}}, end
        self.next += 1

    def _record(self, batch: int, ranges: Ranges | None, planned_at: str | None) -> BatchRecord:
        records = sum(self.truth[batch]["visits"][0][index] * sign for index, sign in ((1, 1), (0, -1)))
        return BatchRecord(
            batch, iso_utc(self.now_ms), records, 0, None, True, 1.0, 20, None, None, ranges=ranges, planned_at=planned_at
        )

    def _tear(self, count: int) -> None:
        """The last line loses so many of its characters, its end first."""
        with self.location.history.open("rb+") as file:
            file.truncate(self.location.history.stat().st_size - count)

    @precondition(lambda self: self._rewindable)
    @rule(data=st.data())
    def rewind(self, data: st.DataObject) -> None:
        """As rewind/apply.py does it: the history is completed before anything moves."""
        to = data.draw(st.sampled_from(self._rewindable))
        reconcile(self.location, self.logs)
        self.number += 1
        taken = {
            path: self.tree.pop(path) for path in list(self.tree) if path[0] in "oc" and int(path.rpartition("/")[2]) >= to
        }
        self.undoable = (f"r{self.number}", taken, dict(self.truth), dict(self.ends))
        append_rewind(self.location, f"r{self.number}", to)
        self.next = to
        self.truth = {batch: ranges for batch, ranges in self.truth.items() if batch < to}

    @property
    def _rewindable(self) -> list[int]:
        """A replan needs the log entries of the two batches before."""
        oldest = min(self.logs.batches, default=0)
        return list(range(0 if oldest == 0 else oldest + 2, self.next))

    @precondition(lambda self: self.undoable is not None)
    @rule()
    def undo(self) -> None:
        assert self.undoable is not None
        rewind, taken, self.truth, self.ends = self.undoable
        self.tree |= taken
        self.next = max(self.truth) + 1
        append_undo(self.location, f"u{self.number}", rewind)
        self.undoable = None

    @invariant()
    def is_complete(self) -> None:
        """As the next start would find it: on a copy, so that it is not that start which completes it."""
        self.copy.history.write_bytes(self.location.history.read_bytes() if self.location.history.exists() else b"")
        reconcile(self.copy, self.logs)
        found = [(entry.batch, entry.ran.ranges) for entry in counting(newest_first(self.copy)) if entry.ran is not None]
        assert found == [(batch, self.truth[batch]) for batch in sorted(self.truth, reverse=True)]
        newest = newest_entry(self.copy)
        total = sum(end - first for ranges in self.truth.values() for first, end in ranges["visits"].values())
        assert (newest.batch, newest.total_records) == (self.next - 1, total) if newest else not self.truth

    def teardown(self) -> None:
        self.directory.cleanup()


TestHistory = History.TestCase
TestHistory.settings = settings(max_examples=60, stateful_step_count=15)
