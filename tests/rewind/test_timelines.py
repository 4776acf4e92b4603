"""Any history of runs, rewinds, crashes, resumes and undos in memory ends as exactly the old tree or the new one."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from anabranch.checkpoint.reader import read_checkpoint
from anabranch.operations.change import CheckpointChange
from anabranch.rewind.plan import Mode, RewindPlan, judge, plan_rewind, verify_rewind
from anabranch.rewind.undo import plan_undo
from anabranch.storage.memory import MemoryStorage
from tests.rewind.test_model import NEVER, crashed, is_fenced, seen
from tests.support.changes import LEFT, application
from tests.support.crashing import MemorySink
from tests.support.drawing import PROVIDERS, draw, stored


def matter(tree: dict[str, bytes]) -> dict[str, bytes]:
    """Without what a rewind leaves because it does no harm: SSTs that no zip names, and operator metadata."""
    return {path: text for path, text in tree.items() if "/SSTs/" not in path and not path.startswith("state/0/_metadata")}


class Timelines(RuleBasedStateMachine):
    """Runs, rewinds, crashes, resumes, undos in any order. The oracle remembers the tree as it was when each batch began."""

    @initialize(provider=st.sampled_from(PROVIDERS))
    def begin(self, provider: str) -> None:
        self.provider, self.timeline, self.number = provider, 0, 0
        self.storage = MemoryStorage({})
        self.tree: dict[str, bytes] = {}
        # Batch -> the tree before it was planned, and when it was planned.
        self.began: dict[int, tuple[dict[str, bytes], dict[str, bytes]]] = {}
        self.next = 0
        self.done: RewindPlan | None = None
        self.open: tuple[CheckpointChange, dict[str, bytes], dict[str, bytes]] | None = None
        self.run(3)

    @precondition(lambda self: self.open is None)
    @rule(count=st.integers(1, 2))
    def run(self, count: int) -> None:
        self.timeline += 1
        for batch in range(self.next, self.next + count):
            drawn = stored(draw(self.provider, batches=range(batch + 1), base_every=3))
            new = {path: content for path, content in drawn.items() if path not in self.storage.files}
            # In Spark's order: who the query is and where it began, the plan of the batch, what the batch does.
            self._write(new, lambda path: path.startswith(("metadata", ".metadata", "sources/")))
            # A batch that is replayed is planned already.
            own = (f"offsets/{batch}", f"offsets/.{batch}.crc")
            before = {path: text for path, text in seen(self.storage).items() if path not in own}
            self._write(new, lambda path: path.startswith("offsets/"))
            self.began[batch] = (before, dict(seen(self.storage)))
            self._write(new, lambda _path: True)
        self.next += count
        self.tree, self.done = dict(seen(self.storage)), None

    def _write(self, files: dict[str, bytes], is_now: Callable[[str], bool]) -> None:
        held = self.storage.files
        held |= {path: text + self._mark(path) for path, text in files.items() if path not in held and is_now(path)}

    def _mark(self, path: str) -> bytes:
        """So that a file of an abandoned timeline can be told from the one that was written again."""
        return f"\n{self.timeline}".encode() if path.endswith((".changelog", ".delta", ".snapshot")) else b""

    def _plan(self, data: st.DataObject) -> tuple[RewindPlan, dict[str, bytes]]:
        checkpoint = read_checkpoint(self.storage)
        mode: Mode = data.draw(st.sampled_from(["replay", "replan"]))
        within = [number for number in checkpoint.batches if judge(checkpoint, number, mode).possible]
        batch = data.draw(st.sampled_from(within))
        self.number += 1
        made = plan_rewind(checkpoint, batch, mode, operation=f"op{self.number}", sink=LEFT, pipeline=None)
        before, planned = self.began[batch]
        return made, planned if mode == "replay" else before

    @precondition(lambda self: self.open is None and self.next > 0)
    @rule(data=st.data(), after=st.one_of(st.just(NEVER), st.integers(0, 60)))
    def rewind(self, data: st.DataObject, after: int) -> None:
        made, expected = self._plan(data)
        self._shift(made.change, expected, after)
        if self.open is None:
            assert all(check.holds for check in verify_rewind(made, read_checkpoint(self.storage)))
        self.done, self.undone_tree = made, self.tree if self.open else self.before
        self.next = made.batch

    def _shift(self, change: CheckpointChange, expected: dict[str, bytes], after: int) -> None:
        self.before = self.tree
        if crashed(self.storage.files, MemorySink(), lambda s, t: application(change, s, t).apply(), after):
            self.open = (change, self.tree, expected)
        else:
            self.tree = expected

    @precondition(lambda self: self.open is not None)
    @rule(after=st.one_of(st.just(NEVER), st.integers(0, 60)), is_forward=st.booleans())
    def go_on(self, after: int, is_forward: bool) -> None:
        assert self.open is not None
        change, before, expected = self.open
        if f"_rewind/{change.operation}/fence" in self.storage.files:
            is_forward = True
        if f"_rewind/{change.operation}/fence.rolled-back" in self.storage.files:
            is_forward = False
        way = (
            (lambda s, t: application(change, s, t).apply())
            if is_forward
            else (lambda s, t: application(change, s, t).roll_back())
        )
        if not crashed(self.storage.files, MemorySink(), way, after):
            self.tree, self.open = expected if is_forward else before, None
            checkpoint = read_checkpoint(self.storage)
            self.next = checkpoint.next_batch
            self.done = self.done if is_forward and self.done and self.done.change == change else None

    @precondition(lambda self: self.open is None and self.done is not None)
    @rule(after=st.one_of(st.just(NEVER), st.integers(0, 60)))
    def undo(self, after: int) -> None:
        assert self.done is not None
        self.number += 1
        made = plan_undo(self.done, read_checkpoint(self.storage), f"undo{self.number}")
        self._shift(made.change, self.undone_tree, after)
        self.done = None
        if self.open is None:
            self.next = read_checkpoint(self.storage).next_batch

    @invariant()
    def the_tree_is_the_old_one_or_the_new_one_or_no_query_starts(self) -> None:
        if not hasattr(self, "storage") or not self.began:
            return
        if self.open is None:
            assert matter(seen(self.storage)) == matter(self.tree)
            assert "_rewind/journal.json" not in self.storage.files
        else:
            _, before, after = self.open
            assert is_fenced(self.storage) or matter(seen(self.storage)) in (matter(before), matter(after))


TestTimelines = Timelines.TestCase
TestTimelines.settings = settings(max_examples=150, stateful_step_count=20, phases=[Phase.generate])
