"""The lake holds every record exactly once, however often the run that fills it is killed."""

from __future__ import annotations

import random
import subprocess

import pytest
from deltalake import DeltaTable

from anabranch.checkpoint.history import newest_entry, newest_first
from anabranch.checkpoint.reader import read_logs
from anabranch.pipeline.builtin.catalog import VISITS_LAKE
from anabranch.project.project import open_project
from tests.support.harness import Project

pytestmark = pytest.mark.crash

# At the start, in a batch, between two.
KILLS = 5


def test_the_lake_has_every_offset_exactly_once_after_kills_at_random_moments(project_with_broker: Project) -> None:
    project = project_with_broker
    chance = random.Random(20250904)
    sending = project.start("generate", "--rate", "100", "--bad", "5%")
    for _ in range(KILLS):
        running = project.start("run", "visits-lake", "--max-offsets", "200")
        running.await_line("visits-lake: running")
        with pytest.raises(subprocess.TimeoutExpired):
            running.process.wait(chance.uniform(0, 8))
        running.process.kill()
        running.await_end()
    sending.process.terminate()
    assert sending.await_end() == 0
    project.ok("run", "visits-lake", "--until-caught-up", "--max-offsets", "100000")

    rows = DeltaTable(project.directory / ".anabranch" / "lake" / "visits").to_pyarrow_table(columns=["partition", "offset"])
    found = sorted((row["partition"], row["offset"]) for row in rows.to_pylist())
    ends = {p: sum(partition == p for partition, _ in found) for p in (0, 1)}
    assert found == [(p, offset) for p in (0, 1) for offset in range(ends[p])]
    assert len(found) > 100
    # Its history has each batch too, although the event of some was lost with the process.
    anabranch = open_project(project.directory)
    location = anabranch.checkpoint(anabranch.pipeline(VISITS_LAKE))
    committed, entry = read_logs(location.storage()).commits.newest, newest_entry(location)
    assert {one.batch for one in newest_first(location)} == {*range((committed or 0) + 1)}
    assert entry is not None
    assert (entry.batch, entry.total_records) == (committed, len(found))
    assert f"0: 0..{ends[0]}  1: 0..{ends[1]}" in project.ok("topics")
