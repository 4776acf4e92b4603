"""The history has every committed batch once, with what Spark has purged since, however often the run is killed."""

from __future__ import annotations

import random
import subprocess
from time import monotonic

import pytest

from anabranch.checkpoint.figures import counting
from anabranch.checkpoint.history import newest_entry, newest_first
from anabranch.pipeline.builtin.catalog import BUILTIN
from anabranch.pipeline.definition import find_pipeline
from anabranch.project.project import open_project
from anabranch.storage.files import CheckpointLocation
from anabranch.text.format import iso_utc
from tests.support.harness import Project
from tests.support.log_watch import Committed, LogWatch

pytestmark = pytest.mark.crash

KILLS_S = 120.0
# One in so many runs is killed in its start, the others in a batch or between two.
ONE_IN_ITS_START = 5
LONGEST_S = 8.0
# So few that most are gone at the end; a run that is killed leaves fewer without a line.
RETAINED = 20
PIPELINE = "visits-log"


def test_every_committed_batch_counts_once_after_two_minutes_of_kills_at_random_moments(project_with_broker: Project) -> None:
    project = project_with_broker
    anabranch = open_project(project.directory)
    location = anabranch.checkpoint(anabranch.pipeline(find_pipeline(BUILTIN.pipelines, PIPELINE)))
    sending = project.start("generate", "--rate", "100", "--bad", "5%")
    with LogWatch(location.path) as watch:
        kill_for_two_minutes(project)
        sending.process.terminate()
        assert sending.await_end() == 0
        project.ok("run", PIPELINE, "--until-caught-up", "--max-offsets", "100000")

    committed = watch.committed()
    check_history(location, committed)
    ends = {partition: end for partition, (_, end) in newest_of(committed).ranges.items()}
    assert f"0: 0..{ends[0]}  1: 0..{ends[1]}" in project.ok("topics")
    # Most of it cannot be read in the logs any more.
    left = [int(path.name) for path in (location.path / "offsets").iterdir() if path.name.isdecimal()]
    assert len(left) <= RETAINED + 2 < min(left), left


def kill_for_two_minutes(project: Project) -> None:
    chance, begun_s = random.Random(20250904), monotonic()
    options = ("--trigger", "50ms", "--max-offsets", "10", "--set", f"spark.sql.streaming.minBatchesToRetain={RETAINED}")
    while monotonic() < begun_s + KILLS_S:
        running = project.start("run", PIPELINE, *options)
        if chance.randrange(ONE_IN_ITS_START):
            running.await_line("Printing visits")
        with pytest.raises(subprocess.TimeoutExpired):
            running.process.wait(chance.uniform(0, LONGEST_S))
        running.process.kill()
        running.await_end()


def newest_of(committed: dict[int, Committed]) -> Committed:
    return committed[max(committed)]


def check_history(location: CheckpointLocation, committed: dict[int, Committed]) -> None:
    """As the logs had them, although the event of some was lost with the process."""
    assert sorted(committed) == list(range(len(committed)))
    found = [entry.ran for entry in counting(newest_first(location)) if entry.ran is not None]
    assert [one.batch for one in found] == sorted(committed, reverse=True)
    for ran in found:
        logs = committed[ran.batch]
        assert (ran.ranges, ran.planned_at) == ({"visits": logs.ranges}, iso_utc(logs.planned_ms)), ran.batch
        assert ran.records == sum(end - begin for begin, end in logs.ranges.values()), ran.batch
    newest = newest_entry(location)
    assert newest is not None
    assert newest.total_records == sum(end for _, end in newest_of(committed).ranges.values())
    # Those whose event was lost are few: one or two of each run.
    lost = [ran.batch for ran in found if ran.duration_ms is None]
    assert len(lost) <= len(found) / 2, lost
