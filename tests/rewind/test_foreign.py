"""A query that is not ours, taken back by its checkpoint's path: by event time, and while it is still busy."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from threading import Event
from time import monotonic, sleep

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from anabranch.checkpoint.reader import read_checkpoint
from anabranch.checkpoint.report import as_json
from anabranch.cli.main import run_command
from anabranch.storage.local import LocalStorage
from anabranch.text.format import iso_utc
from tests.support.harness import PATIENCE_S, Project
from tests.support.queries import EnoughError, end_maintenance

pytestmark = pytest.mark.spark

DELAY_S = 5


class Clicks:
    """Counts of a source that is neither Kafka nor files, into a sink that keeps nothing, one batch after the other."""

    def __init__(self, spark: SparkSession, checkpoint: Path) -> None:
        self.enough, self.spark = Event(), spark
        clicks = spark.readStream.format("rate").option("rowsPerSecond", 100).load()
        counts = clicks.withWatermark("timestamp", f"{DELAY_S} seconds").groupBy(F.window("timestamp", "1 second")).count()
        writer = counts.writeStream.outputMode("update").foreachBatch(self.write)
        self.query = writer.option("checkpointLocation", str(checkpoint)).start()

    def write(self, frame: DataFrame, _batch: int) -> None:
        if self.enough.is_set():
            raise EnoughError
        frame.collect()

    def await_batch(self, batch: int) -> int:
        """The newest, when it has come so far."""
        deadline_s = monotonic() + PATIENCE_S
        while (last := self.query.lastProgress) is None or last["batchId"] < batch:
            assert self.query.isActive, self.query.exception()
            assert monotonic() < deadline_s
            sleep(0.1)
        return int(last["batchId"])

    def end(self) -> None:
        """Before a batch is written. A `stop` in the middle of one may leave temporary files for good, which are a finding."""
        self.enough.set()
        with pytest.raises(StreamingQueryException, match="EnoughError"):
            self.query.awaitTermination(int(PATIENCE_S))
        end_maintenance(self.spark)


Start = Callable[[], Clicks]


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return tmp_path / "checkpoint"


@pytest.fixture
def start(spark: SparkSession, checkpoint: Path) -> Start:
    return lambda: Clicks(spark, checkpoint)


def rewind(checkpoint: Path, *options: str) -> int:
    command = ["rewind", str(checkpoint), *options, "--checkpoint-only", "--stopped", "--yes"]
    return run_command(["-C", str(checkpoint.parent), *command])


def test_an_event_time_needs_the_delay_and_leads_to_the_first_batch_that_may_hold_it(
    start: Start, checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clicks = start()
    clicks.await_batch(8)
    clicks.end()
    found = read_checkpoint(LocalStorage(checkpoint))
    # Many batches are shorter than a second, which is how often the source gives something: only some move the watermark.
    commits = {batch: found.commit_entry(batch) for batch in found.commits.sizes}
    watermarks = {batch: commit.next_watermark_ms for batch, commit in commits.items() if commit is not None}
    batch = next(number for number, moment in sorted(watermarks.items()) if moment > watermarks.get(number - 1, moment))
    moment = iso_utc(watermarks[batch] + 1000 * DELAY_S)
    assert rewind(checkpoint, "--to-event-time", moment) == 2
    assert "--delay 10m" in capsys.readouterr().err

    assert rewind(checkpoint, "--to-event-time", moment, "--delay", f"{DELAY_S}s") == 0
    assert f"to batch {batch} " in capsys.readouterr().out
    assert read_checkpoint(LocalStorage(checkpoint)).next_batch == batch
    again = start()
    again.await_batch(batch + 1)
    again.end()
    assert as_json(read_checkpoint(LocalStorage(checkpoint)))["findings"] == []


def test_a_query_that_runs_while_a_person_thinks_is_found_and_nothing_is_moved(
    start: Start, checkpoint: Path, make_project: Callable[[str], Project]
) -> None:
    project = make_project("project")
    clicks = start()
    seen = clicks.await_batch(3)
    terminal, stdin = os.openpty()
    command = ["rewind", str(checkpoint), "--to-batch", "2", "--checkpoint-only", "--stopped"]
    asked = project.start(*command, stdin=stdin)
    os.close(stdin)
    asked.await_line("2 to [0-9]+ of [0-9]+ taken back")
    clicks.await_batch(seen + 10)
    os.write(terminal, b"y\n")
    assert asked.await_end() == 3
    os.close(terminal)
    assert "[plan-stale]" in "\n".join(asked.err)
    clicks.end()
    found = read_checkpoint(LocalStorage(checkpoint))
    assert (found.batches[0], found.fence, as_json(found)["findings"]) == (0, None, [])
    again = start()
    again.await_batch(found.next_batch + 1)
    again.end()
