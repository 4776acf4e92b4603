"""visits-sessions on real state over many batches: visits end, and their state goes with them; older state is read."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from anabranch.checkpoint.state_reader import state_rows
from anabranch.cli.main import run_command
from anabranch.pipeline.builtin.visits_sessions import VISITS_SESSIONS, unpack_state, visits_sessions
from anabranch.pipeline.definition import Code
from anabranch.streaming.transforms import transformed
from tests.support import sessions_0_2_0
from tests.support.queries import end_maintenance

pytestmark = pytest.mark.spark

BATCHES = 16
VISITS = 40
# A visit is over when the watermark has moved 10 minutes past where it stood at its last update: at the next step.
STEP = timedelta(minutes=10)


@dataclass
class Sessions:
    """One file a batch; what each batch gave is kept."""

    spark: SparkSession
    directory: Path
    files: int = 0
    given: dict[int, list[tuple[str, int, bool]]] = field(default_factory=dict)

    @property
    def checkpoint(self) -> Path:
        return self.directory / "checkpoint"

    def add(self, visit_ids: list[str], after: timedelta) -> None:
        self.files += 1
        time = (datetime(2025, 9, 4, tzinfo=UTC) + after).isoformat()
        file = self.directory / "visits" / f"{self.files:02}.json"
        file.parent.mkdir(exist_ok=True)
        lines = [json.dumps({"visit_id": visit_id, "event_time": time}) for visit_id in visit_ids]
        file.write_text("\n".join(lines), encoding="utf-8")
        os.utime(file, (self.files, self.files))  # Spark takes files by their age, and these are made within a moment

    def run(self, transform: Callable[[DataFrame], DataFrame] = visits_sessions) -> None:
        def keep(results: DataFrame, batch: int) -> None:
            self.given[batch] = sorted(tuple(row) for row in results.collect())

        source = self.spark.readStream.schema("visit_id STRING, event_time TIMESTAMP").option("maxFilesPerTrigger", 1)
        pipeline = VISITS_SESSIONS.changed(code=Code(transform))
        results = transformed([source.json(str(self.directory / "visits"))], pipeline)
        writer = results.writeStream.outputMode("update").option("checkpointLocation", str(self.checkpoint))
        writer.foreachBatch(keep).trigger(availableNow=True).start().awaitTermination()
        end_maintenance(self.spark)

    def finished(self) -> dict[str, int]:
        return {visit: pages for rows in self.given.values() for visit, pages, is_finished in rows if is_finished}

    def open_after(self, batch: int) -> dict[str, int]:
        """As `checkpoint --state` shows them."""
        rows = state_rows(self.spark, str(self.checkpoint), unpack_state, batch, log_file="")
        return {row["visit_id"]: row["visited_pages"] for row in rows}


def test_state_does_not_grow_with_the_visits_that_have_been(spark: SparkSession, tmp_path: Path) -> None:
    sessions = Sessions(spark, tmp_path)
    for batch in range(BATCHES):
        sessions.add([f"{batch}-{n}" for n in range(VISITS)], batch * STEP)
    sessions.run()
    assert sessions.finished() == {f"{batch}-{n}": 1 for batch in range(BATCHES) for n in range(VISITS)}

    last = max(sessions.given)
    assert [len(sessions.open_after(batch)) for batch in (last // 3, 2 * last // 3, last)] == [VISITS, VISITS, 0]
    timers = spark.read.format("statestore").option("readRegisteredTimers", "true").option("batchId", last)
    assert timers.load(str(sessions.checkpoint)).count() == 0


@pytest.mark.parametrize("changelog", [True, False])
def test_a_checkpoint_of_0_2_0_goes_on_and_can_be_rewound_to_what_0_2_0_did(
    changelog: bool, spark: SparkSession, tmp_path: Path
) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", str(changelog).lower())
    sessions = Sessions(session, tmp_path)
    for number in range(3):
        sessions.add([f"{number}-{n}" for n in range(VISITS)], timedelta(minutes=4 * number))
    sessions.run(sessions_0_2_0.count_pages)
    upgrade = max(sessions.given)
    kept_by_0_2_0 = {f"{batch}-{n}": 1 for batch in range(3) for n in range(VISITS)}
    assert sessions.open_after(upgrade) == kept_by_0_2_0

    # Few visits go on: the others end in buckets that no record touches any more.
    sessions.add(["2-0", "2-1"], timedelta(minutes=12))
    sessions.add(["last"], timedelta(hours=1))
    sessions.run()
    assert sessions.finished() == {**kept_by_0_2_0, "2-0": 2, "2-1": 2, "last": 1}
    # What was kept before the upgrade is still shown.
    assert sessions.open_after(upgrade) == kept_by_0_2_0
    assert sessions.open_after(upgrade + 1) == {**kept_by_0_2_0, "2-0": 2, "2-1": 2}

    given, rewound_to = sessions.given, upgrade - 1
    rewind = ["rewind", str(sessions.checkpoint), "--to-batch", str(rewound_to)]
    assert run_command(["-q", "-C", str(tmp_path), *rewind, "--stopped", "--checkpoint-only", "--yes"]) == 0
    sessions.given = {}
    sessions.run()
    # Without the empty batch that the first run ended with: this one goes on.
    assert [rows for rows in sessions.given.values() if rows] == [
        rows for batch, rows in sorted(given.items()) if batch >= rewound_to and rows
    ]
