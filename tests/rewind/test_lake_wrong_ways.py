"""The ways to rewind a lake by hand that look right and are not, so that the reason for ours stays known (hazards.md, G)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from uuid import uuid4

import pytest
from deltalake import DeltaTable

from anabranch.checkpoint.reader import read_checkpoint
from anabranch.rewind.plan import files_beyond
from anabranch.storage.local import LocalStorage
from tests.support.lakes import MadeLake
from tests.support.streams import Stream

pytestmark = pytest.mark.kafka


def aside(lake: Stream, batch: int) -> None:
    """The files only, as many do by hand."""
    checkpoint = read_checkpoint(LocalStorage(lake.checkpoint))
    for path in files_beyond(checkpoint, batch, "replan"):
        (lake.checkpoint / path).unlink()


def nothing_more(lake: Stream) -> None: ...


def restore(lake: Stream) -> None:
    # Version 2 is what batch 2 left: 30 rows.
    DeltaTable(lake.sink).restore(2)


def delete(lake: Stream) -> None:
    DeltaTable(lake.sink).delete('"offset" >= 15')


def new_id(lake: Stream) -> None:
    (lake.checkpoint / "metadata").write_text(json.dumps({"id": str(uuid4())}), encoding="utf-8")
    (lake.checkpoint / ".metadata.crc").unlink(missing_ok=True)


WRONG: Sequence[tuple[str, Sequence[Callable[[Stream], None]], int, int]] = [
    # What was done, before a run over 20 more visits, with other boundaries: rows in the table, and how many records these are.
    ("files only", [nothing_more], 60, 60),
    ("files and RESTORE", [restore], 30, 30),
    ("files and a delete", [delete], 30, 30),
    ("files and a new query id", [new_id], 110, 80),
]


@pytest.mark.parametrize(("way", "steps", "rows", "records"), WRONG, ids=[way for way, *_ in WRONG])
def test_the_ways_that_look_right_lose_records_or_write_them_twice_without_an_error(
    way: str, steps: Sequence[Callable[[Stream], None]], rows: int, records: int, behind: MadeLake, tmp_path: Path
) -> None:
    lake = behind.copy(tmp_path)
    aside(lake, 3)
    for step in steps:
        step(lake)
    lake.run(20)
    found = DeltaTable(lake.sink).to_pyarrow_table(columns=["partition", "offset"]).to_pylist()
    assert (len(found), len({(row["partition"], row["offset"]) for row in found})) == (rows, records), way
