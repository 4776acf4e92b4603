"""The whole command killed before each of its effects, on a pipeline's checkpoint with its table and its history.

Whatever moment it was, resume and undo end with exactly the old checkpoint, table and totals, or exactly the new ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from anabranch.checkpoint.history import EMPTY, BatchRecord, append_batch, newest_entry, newest_first
from anabranch.checkpoint.reader import read_logs
from anabranch.checkpoint.reconcile import CHECKPOINT_REPLACED
from anabranch.text.format import iso_utc
from tests.support.effects import Effects
from tests.support.lakes import A_BATCH, MadeLake, offsets
from tests.support.streams import Stream

pytestmark = [pytest.mark.crash, pytest.mark.kafka]


@dataclass(frozen=True)
class Seen:
    """All that a person sees of the lake: files, rows, the totals in status, the states of operations."""

    tree: dict[str, bytes]
    rows: list[int]
    records: int
    unfinished: list[str]


@pytest.fixture(scope="module")
def effects() -> Iterator[Effects]:
    with Effects() as server:
        yield server


def seen(lake: Stream) -> Seen:
    files = (path for path in lake.checkpoint.rglob("*") if path.is_file() and "_rewind" not in path.parts)
    return Seen(
        {str(path.relative_to(lake.checkpoint)): path.read_bytes() for path in files},
        offsets(lake),
        # As status reads it.
        (newest_entry(lake.location) or EMPTY).total_records,
        [operation.id for operation in lake.project.operations.all() if operation.state == "not finished"],
    )


def with_history(lake: Stream, planned_at: str | None = None) -> Stream:
    """Of its own batches; with a time of planning that is not theirs, of a query that was there before."""
    logs = read_logs(lake.location.storage())
    for batch in range(6):
        planned = logs.offset_entry(batch)
        assert planned is not None
        at = planned_at or iso_utc(planned.timestamp_ms)
        record = BatchRecord(batch, at, A_BATCH, 0, None, True, 1.0, 20, None, None, planned_at=at)
        append_batch(lake.location, record)
    return lake


def rewind(lake: Stream) -> list[str]:
    return [
        "-C",
        str(lake.directory),
        "rewind",
        "visits-lake",
        "--to",
        lake.pipeline.sink.describe(),
        "--to-batch",
        "3",
        "--yes",
    ]


def undo(lake: Stream) -> list[str]:
    (operation,) = (operation for operation in lake.project.operations.all() if operation.state == "done")
    return ["-C", str(lake.directory), "undo", operation.id, "--yes"]


def taking_turns(way_out: str, count: int) -> range:
    """Each effect has one of the two ways out here; in memory (test_model.py) it has both."""
    return range(0 if way_out == "resume" else 1, count, 2)


@pytest.mark.parametrize("way_out", ["resume", "undo"])
def test_a_rewind_killed_before_any_effect_ends_as_the_old_state_or_the_new_one(
    way_out: str, shared: MadeLake, effects: Effects, tmp_path: Path
) -> None:
    whole = with_history(shared.copy(tmp_path / "whole"))
    before = seen(whole)
    code, count, said = effects.run(*rewind(whole))
    assert code == 0, said
    after = seen(whole)
    assert (before.records, after.records, len(before.rows), len(after.rows)) == (60, 30, 60, 30)
    assert count > 20
    for kill_before in taking_turns(way_out, count):
        lake = with_history(shared.copy(tmp_path / str(kill_before)))
        assert effects.run(*rewind(lake), kill_before=kill_before)[0] == -9
        check_way_out(lake, effects, way_out, before, after)


@pytest.mark.parametrize("way_out", ["resume", "undo"])
def test_an_undo_killed_before_any_effect_ends_as_the_old_state_or_the_new_one(
    way_out: str, shared: MadeLake, effects: Effects, tmp_path: Path
) -> None:
    whole = with_history(shared.copy(tmp_path / "whole"))
    before = seen(whole)
    assert effects.run(*rewind(whole))[0] == 0
    after = seen(whole)
    code, count, said = effects.run(*undo(whole))
    assert code == 0, said
    assert seen(whole) == before
    for kill_before in taking_turns(way_out, count):
        lake = with_history(shared.copy(tmp_path / str(kill_before)))
        assert effects.run(*rewind(lake))[0] == 0
        assert effects.run(*undo(lake), kill_before=kill_before)[0] == -9
        check_way_out(lake, effects, way_out, after, before)


def test_a_history_of_an_earlier_query_is_never_replaced_by_half(shared: MadeLake, effects: Effects, tmp_path: Path) -> None:
    """Both have 60 records: it is never said that none is known."""
    was_replaced = []
    for kill_before in range(6):
        lake = with_history(shared.copy(tmp_path / str(kill_before)), planned_at="2025-09-04T07:00:00Z")
        assert effects.run(*rewind(lake), kill_before=kill_before)[0] == -9
        assert seen(lake).records == 60
        was_replaced.append(any(one.operation == CHECKPOINT_REPLACED for one in newest_first(lake.location)))
    assert set(was_replaced) == {False, True}


def check_way_out(lake: Stream, effects: Effects, way_out: str, before: Seen, after: Seen) -> None:
    """By the command: what is not finished is resumed or undone; then all is as before, or as after."""
    for operation in seen(lake).unfinished:
        code, _, said = effects.run("-C", str(lake.directory), way_out, operation, "--yes")
        # Killed behind its commit point an operation can only be resumed, or, a rewind, undone as a whole.
        if code != 0:
            assert (way_out, code) == ("undo", 3), said
            code, _, said = effects.run("-C", str(lake.directory), "resume", operation, "--yes")
        assert code == 0, said
    now = seen(lake)
    assert now in (before, after), (now.records, len(now.rows), now.unfinished)
