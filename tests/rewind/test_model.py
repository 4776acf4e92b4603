"""Rewinds against a storage in memory: a crash at every step, and after any history exactly the old tree or the new one."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from anabranch.checkpoint.reader import read_checkpoint
from anabranch.errors import Failed, Refused
from anabranch.operations.change import JOURNAL, CheckpointChange, DeleteRows, LeaveSink, WrittenRows
from anabranch.operations.fence import under_way
from anabranch.rewind.change import Shifting
from anabranch.rewind.plan import Mode, RewindPlan, plan_from_json, plan_rewind, possible, verify_rewind
from anabranch.rewind.undo import plan_undo
from anabranch.storage.memory import MemoryStorage
from tests.support.crashing import Countdown, Crash, CrashingStorage, CrashingTables, MemoryTables
from tests.support.drawing import JOIN, PROVIDERS, commit, draw, offsets, stored

ROWS = WrittenRows("/lake", "op", "query", {"visits": {"0": (0, 9)}}, 9, 1, 8, 3)
NEVER = 1_000_000


def seen(storage: MemoryStorage) -> dict[str, bytes]:
    """What Spark sees, without the fence."""
    return {path: content for path, content in storage.files.items() if not path.startswith("_rewind")}


def is_fenced(storage: MemoryStorage) -> bool:
    return read_checkpoint(storage).fence is not None


def shifting(change: CheckpointChange, storage: Any, tables: Any) -> Shifting:
    return Shifting(change, json.dumps({"change": asdict(change)}), storage, tables, lambda _done, _total: None)


def plan(storage: MemoryStorage, batch: int, mode: Mode, operation: str = "op") -> RewindPlan:
    checkpoint = read_checkpoint(storage)
    assert possible(checkpoint, batch, mode).possible
    return plan_rewind(checkpoint, batch, mode, operation=operation, sink=DeleteRows(ROWS), pipeline=None)


def crashed(files: dict[str, bytes], tables: MemoryTables, step: Callable[[Any, Any], None], after: int) -> bool:
    """Lets a step run on these files until it has done so many things; whether it was cut off."""
    storage = MemoryStorage({})
    storage.files = files
    countdown = Countdown(after)
    try:
        step(CrashingStorage(storage, countdown), CrashingTables(tables, countdown))
    except Crash:
        return True
    return False


@pytest.mark.parametrize("mode", ["replay", "replan"])
@pytest.mark.parametrize("batch", [0, 2])
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_crash_at_every_step_and_again_on_the_way_out_leaves_the_old_tree_or_the_new_one(
    provider: str, batch: int, mode: Mode
) -> None:
    before = stored(draw(provider, batches=range(4), stores=JOIN[:2] if provider == "changelog" else ("default",)))
    change = plan(MemoryStorage(before), batch, mode).change
    whole = MemoryStorage(before)
    shifting(change, whole, MemoryTables()).apply()
    after = seen(whole)
    assert after != before

    def forward(storage: Any, tables: Any) -> None:
        shifting(change, storage, tables).apply()

    def back(storage: Any, tables: Any) -> None:
        shifting(change, storage, tables).roll_back()

    steps, cut = 0, True
    while cut:
        files, tables = dict(before), MemoryTables()
        cut = crashed(files, tables, forward, steps)
        now = MemoryStorage(files)
        assert is_fenced(now) or seen(now) in (before, after)
        is_over = f"_rewind/{change.operation}/fence" in files
        for way_out, tree, place in ((forward, after, "out"), (back, before, "in")):
            if way_out is back and is_over:
                continue
            # The second crash: at every step for one provider, for the others it never comes.
            again, is_cut = 0 if (provider, batch) == ("changelog", 2) else NEVER, True
            while is_cut:
                files_2, tables_2 = dict(files), MemoryTables(tables.place)
                is_cut = crashed(files_2, tables_2, way_out, again)
                now_2 = MemoryStorage(files_2)
                assert is_fenced(now_2) or seen(now_2) in (before, after)
                if is_cut:
                    crashed(files_2, tables_2, way_out, NEVER)
                assert seen(MemoryStorage(files_2)) == tree
                assert tables_2.place == place
                again += 1
        steps += 1
    assert steps > 15


def test_a_plan_comes_back_from_its_journal_as_it_was() -> None:
    made = plan(MemoryStorage(stored(draw())), 3, "replay")
    assert plan_from_json(json.loads(json.dumps(asdict(made)))) == made


def test_a_store_that_cannot_create_exclusively_is_refused_and_nothing_changed() -> None:
    before = stored(draw())
    storage = MemoryStorage(before, is_exclusive=False)
    with pytest.raises(Refused, match="cannot create a file exclusively"):
        shifting(plan(MemoryStorage(before), 3, "replay").change, storage, MemoryTables()).apply()
    assert storage.files == before


NEW = dict.fromkeys(("offsets/9", "commits/9", "state/0/1/10.changelog"), offsets(9).encode())
# By the purge of a query that still runs, by another rewind, by hand.
GONE = dict.fromkeys(("commits/0", "commits/8", "offsets/8", "state/0/1/9.changelog"))


@pytest.mark.parametrize(("path", "content"), [*NEW.items(), *GONE.items()])
@pytest.mark.parametrize("crash_after", [0, 1, 2])
def test_ground_that_moved_since_the_plan_is_refused_and_left_alone(path: str, content: bytes | None, crash_after: int) -> None:
    storage = MemoryStorage(stored(draw()))
    change = plan(storage, 3, "replay").change
    tamper(storage, path, content)
    check_left_alone(change, storage, crash_after)


def check_left_alone(change: CheckpointChange, storage: MemoryStorage, crash_after: int) -> None:
    """Also where it is found only after a crash; after nothing is done, that is none."""
    before = seen(storage)
    crashed(storage.files, MemoryTables(), lambda s, t: shifting(change, s, t).apply(), crash_after)
    with pytest.raises(Refused, match="files came or went since"):
        shifting(change, storage, MemoryTables()).apply()
    assert (seen(storage), under_way(storage)) == (before, None)


def tamper(storage: MemoryStorage, path: str, content: bytes | None) -> None:
    if content is None:
        del storage.files[path]
    else:
        storage.files[path] = content


@pytest.mark.parametrize("after", range(4, 40, 5))
def test_what_went_while_files_were_moved_does_not_keep_the_others_from_going_back(after: int) -> None:
    tree = stored(draw())
    storage = MemoryStorage(tree)
    change = plan(storage, 3, "replay").change
    assert crashed(storage.files, MemoryTables(), lambda s, t: shifting(change, s, t).apply(), after)
    last = change.paths[-1]
    tamper(storage, last, None)
    with pytest.raises(Failed, match="somebody else changed the checkpoint"):
        shifting(change, storage, MemoryTables()).apply()
    shifting(change, storage, MemoryTables()).roll_back()
    assert seen(storage) == {path: content for path, content in tree.items() if path != last}


@pytest.mark.parametrize("crash_after", [0, 1, 2])
def test_an_undo_leaves_what_another_query_wrote_in_the_meantime(crash_after: int) -> None:
    storage = MemoryStorage(stored(draw()))
    rewind = plan(storage, 3, "replay")
    shifting(rewind.change, storage, MemoryTables()).apply()
    change = plan_undo(rewind, read_checkpoint(storage), "undo").change
    tamper(storage, change.paths[-1], b"another's")
    check_left_alone(change, storage, crash_after)


def test_a_journal_that_says_nothing_is_not_guessed_and_can_be_put_right() -> None:
    tree = stored(draw())
    storage = MemoryStorage(tree)
    change = plan(storage, 3, "replay").change
    assert crashed(storage.files, MemoryTables(), lambda s, t: shifting(change, s, t).apply(), 10)
    journal = storage.files[JOURNAL]
    storage.files[JOURNAL] = b"{"
    before = dict(storage.files)
    for way in (shifting(change, storage, MemoryTables()).apply, shifting(change, storage, MemoryTables()).roll_back):
        with pytest.raises(Failed, match="does not say which operation is under way"):
            way()
    assert storage.files == before
    storage.files[JOURNAL] = journal
    shifting(change, storage, MemoryTables()).roll_back()
    assert seen(storage) == tree


def test_a_busy_query_that_writes_while_the_fence_goes_up_is_found_and_left_alone() -> None:
    class Busy(MemoryStorage):
        """A query that commits its batch at the moment when the fence is there."""

        def create(self, path: str, content: bytes) -> bool:
            made = super().create(path, content)
            if path == "offsets/9":
                self.files["commits/8"] = commit(8).encode()
            return made

    tree = stored(draw(committed=range(8)))
    change = plan(MemoryStorage(tree), 3, "replay").change
    storage = Busy(tree)
    with pytest.raises(Refused, match="make sure that no query runs on it"):
        shifting(change, storage, MemoryTables()).apply()
    assert seen(storage) == tree | {"commits/8": commit(8).encode()}


def test_a_second_operation_waits_for_the_first() -> None:
    storage = MemoryStorage(stored(draw()))
    first, second = plan(storage, 3, "replay").change, plan(storage, 4, "replay", "other").change
    assert crashed(storage.files, MemoryTables(), lambda s, t: shifting(first, s, t).apply(), 5)
    before = dict(storage.files)
    with pytest.raises(Refused, match="other cannot begin: op is not finished"):
        shifting(second, storage, MemoryTables()).apply()
    shifting(second, storage, MemoryTables()).roll_back()
    assert storage.files == before


def matter(tree: dict[str, bytes]) -> dict[str, bytes]:
    """Without what a rewind leaves because Spark takes no harm from it: SSTs that no zip names, and what an operator is."""
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
        within = [number for number in checkpoint.batches if possible(checkpoint, number, mode).possible]
        batch = data.draw(st.sampled_from(within))
        self.number += 1
        made = plan_rewind(checkpoint, batch, mode, operation=f"op{self.number}", sink=LeaveSink(""), pipeline=None)
        before, planned = self.began[batch]
        return made, planned if mode == "replay" else before

    @precondition(lambda self: self.open is None and self.next > 0)
    @rule(data=st.data(), after=st.one_of(st.just(NEVER), st.integers(0, 60)))
    def rewind(self, data: st.DataObject, after: int) -> None:
        made, expected = self._plan(data)
        self._shift(made.change, expected, after)
        if self.open is None:
            assert all(holds for _, holds in verify_rewind(made, read_checkpoint(self.storage)))
        self.done, self.undone_tree = made, self.tree if self.open else self.before
        self.next = made.batch

    def _shift(self, change: CheckpointChange, expected: dict[str, bytes], after: int) -> None:
        self.before = self.tree
        if crashed(self.storage.files, MemoryTables(), lambda s, t: shifting(change, s, t).apply(), after):
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
        way = (lambda s, t: shifting(change, s, t).apply()) if is_forward else (lambda s, t: shifting(change, s, t).roll_back())
        if not crashed(self.storage.files, MemoryTables(), way, after):
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
TestTimelines.settings = settings(max_examples=150, stateful_step_count=20, deadline=None, phases=[Phase.generate])
