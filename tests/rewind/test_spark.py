"""Rewinds of real checkpoints of real queries: what runs again, and a crash at every single step on a real disk.

The trees on the disk are copied by links, since a rewind moves files and never writes into one.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from anabranch.checkpoint.reader import read_checkpoint
from anabranch.checkpoint.report import as_json
from anabranch.operations.change import CheckpointChange
from anabranch.operations.fence import Application
from anabranch.rewind.plan import Mode, judge, plan_rewind, verify_rewind
from anabranch.storage.local import LocalStorage
from tests.support.changes import DELETED, LEFT, application
from tests.support.crashing import Countdown, Crash, CrashingStorage, MemorySink, crashing
from tests.support.queries import FILES, STATEFUL, Query

pytestmark = pytest.mark.spark

Made = Callable[[str], Query]
Tree = dict[str, bytes]
NEVER = 1_000_000


def change_of(checkpoint: Path, batch: int, mode: Mode, *, table: bool = False) -> CheckpointChange:
    found = read_checkpoint(LocalStorage(checkpoint))
    sink = DELETED if table else LEFT
    return plan_rewind(found, batch, mode, operation="op", sink=sink, pipeline=None).change


def applied(change: CheckpointChange, checkpoint: Path, sink: MemorySink, crash_after: int = NEVER) -> Application:
    countdown = Countdown(crash_after)
    return application(change, CrashingStorage(LocalStorage(checkpoint), countdown), crashing(sink, countdown))


def tree_of(checkpoint: Path) -> Tree:
    """All that Spark sees, byte for byte."""
    files = (path for path in checkpoint.rglob("*") if path.is_file() and path.relative_to(checkpoint).parts[0] != "_rewind")
    return {str(path.relative_to(checkpoint)): path.read_bytes() for path in files}


def put(saved: Path, checkpoint: Path) -> None:
    shutil.rmtree(checkpoint, ignore_errors=True)
    shutil.copytree(saved, checkpoint, copy_function=os.link)


def is_fenced(checkpoint: Path) -> bool:
    return read_checkpoint(LocalStorage(checkpoint)).fence is not None


@pytest.fixture
def kept(made: Made, tmp_path: Path) -> Iterator[Callable[[str], tuple[Query, Path]]]:
    """A query, and a copy of its checkpoint that is put back at the end: version 2 of operator metadata names its directory."""
    taken: list[tuple[Query, Path]] = []

    def take(name: str) -> tuple[Query, Path]:
        query = made(name)
        saved = tmp_path / "saved"
        shutil.copytree(query.checkpoint, saved)
        taken.append((query, saved))
        return query, saved

    yield take
    for query, saved in taken:
        shutil.rmtree(query.checkpoint)
        shutil.copytree(saved, query.checkpoint)


@pytest.mark.parametrize("mode", ["replay", "replan"])
@pytest.mark.parametrize("name", STATEFUL)
def test_after_a_rewind_and_a_second_restart_every_batch_gives_what_it_gave(
    name: str, mode: Mode, kept: Callable[[str], tuple[Query, Path]]
) -> None:
    query, _ = kept(name)
    checkpoint = read_checkpoint(LocalStorage(query.checkpoint))
    batch = next(batch for batch in checkpoint.batches if judge(checkpoint, batch, mode).possible)
    made = plan_rewind(checkpoint, batch, mode, operation="op", sink=LEFT, pipeline=None)
    applied(made.change, query.checkpoint, MemorySink()).apply()
    assert all(check.holds for check in verify_rewind(made, read_checkpoint(LocalStorage(query.checkpoint))))
    # The first restart runs one batch and ends; the second would load a snapshot of the abandoned timeline, were one left.
    again = query.run(most=1) | query.run()
    assert again == {number: rows for number, rows in query.results.items() if number >= batch}
    assert as_json(read_checkpoint(LocalStorage(query.checkpoint)))["findings"] == []


def test_a_crash_at_every_step_and_at_every_step_of_the_way_out_is_mended_byte_for_byte(
    kept: Callable[[str], tuple[Query, Path]], tmp_path: Path
) -> None:
    query, saved = kept("changelog")
    checkpoint, crashed = query.checkpoint, tmp_path / "crashed"
    change = change_of(checkpoint, FILES - 1, "replan", table=True)
    before = tree_of(checkpoint)
    applied(change, checkpoint, MemorySink()).apply()
    after = tree_of(checkpoint)
    step, is_cut = 0, True
    while is_cut:
        put(saved, checkpoint)
        sink = MemorySink()
        is_cut = _cut(applied(change, checkpoint, sink, step).apply)
        assert is_fenced(checkpoint) or tree_of(checkpoint) in (before, after)
        put(checkpoint, crashed)
        ways = [("apply", after, "out")] + (
            [("roll_back", before, "in")] if not (checkpoint / change.committed).exists() else []
        )
        for way, tree, place in ways:
            again, is_cut_again = 0, True
            while is_cut_again:
                put(crashed, checkpoint)
                held = MemorySink(sink.place)
                is_cut_again = _cut(getattr(applied(change, checkpoint, held, again), way))
                if is_cut_again:
                    getattr(applied(change, checkpoint, held), way)()
                assert tree_of(checkpoint) == tree
                assert held.place == place
                again += 1
        step += 1
    assert step > 12


def _cut(work: Callable[[], None]) -> bool:
    try:
        work()
    except Crash:
        return True
    return False


def test_at_every_step_the_query_starts_as_before_or_refuses_over_the_fence(
    kept: Callable[[str], tuple[Query, Path]],
) -> None:
    query, saved = kept("changelog")
    checkpoint = read_checkpoint(LocalStorage(query.checkpoint))
    batch = next(batch for batch in checkpoint.batches if judge(checkpoint, batch, "replay").possible)
    change = change_of(query.checkpoint, batch, "replay")
    before = tree_of(query.checkpoint)
    step, is_cut, refused = 0, True, 0
    while is_cut:
        put(saved, query.checkpoint)
        is_cut = _cut(applied(change, query.checkpoint, MemorySink(), step).apply)
        if is_fenced(query.checkpoint):
            with pytest.raises(Exception, match="INVALID_LOG_VERSION"):
                query.run()
            refused += 1
        elif is_cut and not (query.checkpoint / change.committed).exists():
            assert tree_of(query.checkpoint) == before
        step += 1
    assert refused > 20
    put(saved, query.checkpoint)
