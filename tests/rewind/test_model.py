"""Rewinds on a storage in memory: a crash at every step, and after any history exactly the old tree or the new one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from anabranch.checkpoint.reader import read_checkpoint
from anabranch.errors import Failed, Refused
from anabranch.operations.change import JOURNAL, CheckpointChange
from anabranch.operations.fence import under_way
from anabranch.rewind.apply import REWIND
from anabranch.rewind.plan import Mode, RewindPlan, judge, plan_rewind
from anabranch.rewind.undo import plan_undo
from anabranch.storage.memory import MemoryStorage
from tests.support.changes import DELETED, application
from tests.support.crashing import Countdown, Crash, CrashingStorage, MemorySink, crashing
from tests.support.drawing import JOIN, PROVIDERS, commit, draw, offsets, stored

NEVER = 1_000_000


def seen(storage: MemoryStorage) -> dict[str, bytes]:
    """What Spark sees, without the fence."""
    return {path: content for path, content in storage.files.items() if not path.startswith("_rewind")}


def is_fenced(storage: MemoryStorage) -> bool:
    return read_checkpoint(storage).fence is not None


def plan(storage: MemoryStorage, batch: int, mode: Mode, operation: str = "op") -> RewindPlan:
    checkpoint = read_checkpoint(storage)
    assert judge(checkpoint, batch, mode).possible
    return plan_rewind(checkpoint, batch, mode, operation=operation, sink=DELETED, pipeline=None)


def crashed(files: dict[str, bytes], sink: MemorySink, step: Callable[[Any, Any], None], after: int) -> bool:
    """Runs a step on these files until it has had so many effects; whether it was cut off."""
    storage = MemoryStorage({})
    storage.files = files
    countdown = Countdown(after)
    try:
        step(CrashingStorage(storage, countdown), crashing(sink, countdown))
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
    application(change, whole, MemorySink()).apply()
    after = seen(whole)
    assert after != before

    def forward(storage: Any, sink: Any) -> None:
        application(change, storage, sink).apply()

    def back(storage: Any, sink: Any) -> None:
        application(change, storage, sink).roll_back()

    steps, cut = 0, True
    while cut:
        files, sink = dict(before), MemorySink()
        cut = crashed(files, sink, forward, steps)
        now = MemoryStorage(files)
        assert is_fenced(now) or seen(now) in (before, after)
        is_over = f"_rewind/{change.operation}/fence" in files
        for way_out, tree, place in ((forward, after, "out"), (back, before, "in")):
            if way_out is back and is_over:
                continue
            # The second crash: at every step for one provider, for the others it never comes.
            again, is_cut = 0 if (provider, batch) == ("changelog", 2) else NEVER, True
            while is_cut:
                files_2, sink_2 = dict(files), MemorySink(sink.place)
                is_cut = crashed(files_2, sink_2, way_out, again)
                now_2 = MemoryStorage(files_2)
                assert is_fenced(now_2) or seen(now_2) in (before, after)
                if is_cut:
                    crashed(files_2, sink_2, way_out, NEVER)
                assert seen(MemoryStorage(files_2)) == tree
                assert sink_2.place == place
                again += 1
        steps += 1
    assert steps > 15


def test_a_plan_comes_back_from_its_journal_as_it_was() -> None:
    made = plan(MemoryStorage(stored(draw())), 3, "replay")
    assert REWIND.decode(REWIND.encode(made), "journal.json") == made


def test_a_store_that_cannot_create_exclusively_is_refused_and_nothing_changed() -> None:
    before = stored(draw())
    storage = MemoryStorage(before, is_exclusive=False)
    with pytest.raises(Refused) as refused:
        application(plan(MemoryStorage(before), 3, "replay").change, storage, MemorySink()).apply()
    assert (refused.value.code, storage.files) == ("no-exclusive-create", before)


NEW = dict.fromkeys(("offsets/9", "commits/9", "state/0/1/10.changelog"), offsets(9).encode())
# By the purge of a query that still runs, by another rewind, by hand.
GONE = dict.fromkeys(("commits/0", "commits/8", "offsets/8", "state/0/1/9.changelog"))


@pytest.mark.parametrize(("path", "content"), [*NEW.items(), *GONE.items()])
@pytest.mark.parametrize("crash_after", [0, 1, 2])
def test_a_stale_plan_is_refused_and_the_tree_left_alone(path: str, content: bytes | None, crash_after: int) -> None:
    storage = MemoryStorage(stored(draw()))
    change = plan(storage, 3, "replay").change
    tamper(storage, path, content)
    check_left_alone(change, storage, crash_after)


def check_left_alone(change: CheckpointChange, storage: MemoryStorage, crash_after: int) -> None:
    """Also where it is found only after a crash; after nothing is done, that is none."""
    before = seen(storage)
    crashed(storage.files, MemorySink(), lambda s, t: application(change, s, t).apply(), crash_after)
    with pytest.raises(Refused) as refused:
        application(change, storage, MemorySink()).apply()
    assert refused.value.code == "plan-stale"
    assert (seen(storage), under_way(storage, "")) == (before, None)


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
    assert crashed(storage.files, MemorySink(), lambda s, t: application(change, s, t).apply(), after)
    last = change.paths[-1]
    tamper(storage, last, None)
    with pytest.raises(Failed) as failed:
        application(change, storage, MemorySink()).apply()
    assert failed.value.code == "move-conflict"
    application(change, storage, MemorySink()).roll_back()
    assert seen(storage) == {path: content for path, content in tree.items() if path != last}


@pytest.mark.parametrize("crash_after", [0, 1, 2])
def test_an_undo_leaves_what_another_query_wrote_in_the_meantime(crash_after: int) -> None:
    storage = MemoryStorage(stored(draw()))
    rewind = plan(storage, 3, "replay")
    application(rewind.change, storage, MemorySink()).apply()
    change = plan_undo(rewind, read_checkpoint(storage), "undo").change
    tamper(storage, change.paths[-1], b"another's")
    check_left_alone(change, storage, crash_after)


def test_a_journal_that_says_nothing_is_not_guessed_and_can_be_put_right() -> None:
    tree = stored(draw())
    storage = MemoryStorage(tree)
    change = plan(storage, 3, "replay").change
    assert crashed(storage.files, MemorySink(), lambda s, t: application(change, s, t).apply(), 10)
    journal = storage.files[JOURNAL]
    storage.files[JOURNAL] = b"{"
    before = dict(storage.files)
    for way in (application(change, storage, MemorySink()).apply, application(change, storage, MemorySink()).roll_back):
        with pytest.raises(Refused) as refused:
            way()
        assert refused.value.code == "journal-unreadable"
    assert storage.files == before
    storage.files[JOURNAL] = journal
    application(change, storage, MemorySink()).roll_back()
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
    with pytest.raises(Refused) as refused:
        application(change, storage, MemorySink()).apply()
    assert refused.value.code == "plan-stale"
    assert seen(storage) == tree | {"commits/8": commit(8).encode()}


def test_a_second_operation_waits_for_the_first() -> None:
    storage = MemoryStorage(stored(draw()))
    first, second = plan(storage, 3, "replay").change, plan(storage, 4, "replay", "other").change
    assert crashed(storage.files, MemorySink(), lambda s, t: application(first, s, t).apply(), 5)
    before = dict(storage.files)
    with pytest.raises(Refused) as refused:
        application(second, storage, MemorySink()).apply()
    assert (refused.value.code, refused.value.reason.params["operation"]) == ("operation-not-finished", "op")
    application(second, storage, MemorySink()).roll_back()
    assert storage.files == before
