"""One event dated now among those of 2025: what a watermark's jump drops is counted and named, or stopped before it happens."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from anabranch.checkpoint.history import HistoryEntry, newest_entry
from anabranch.checkpoint.reader import read_logs
from anabranch.errors import Refused
from anabranch.kafka.admin import KafkaAdmin
from anabranch.kafka.records import GroupProducer, Received, latest_by_key, read_records
from anabranch.pipeline.builtin.browsers_stateful import BROWSERS_STATEFUL
from anabranch.pipeline.builtin.visits_counter import VISITS_COUNTER
from anabranch.pipeline.builtin.visits_windows import VISITS_WINDOWS
from anabranch.pipeline.sinks import Table
from anabranch.project.project import open_project
from anabranch.storage.files import CheckpointLocation
from tests.support.harness import Project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.in_process]

BEGIN_S = 1_756_969_200  # 2025-09-04T07:00:00Z
POISON, COUNT, A_BATCH = 24, 49, 10
WINDOW_S = 600


def _visits(times_s: list[int]) -> list[bytes]:
    return [
        json.dumps({"visit_id": number, "event_time": datetime.fromtimestamp(time_s, UTC).isoformat()}).encode()
        for number, time_s in enumerate(times_s)
    ]


def _times_s() -> list[int]:
    """Every 5 minutes, but for the one that is dated now. Its record is of now too, so it is no event from the future."""
    times_s = [BEGIN_S + number * 300 for number in range(COUNT)]
    times_s[POISON] = int(datetime.now(UTC).timestamp())
    return times_s


def _closed_windows() -> dict[str, int]:
    """What a stream that never had the one record emits: windows that end at or before its watermark."""
    times_s = [BEGIN_S + number * 300 for number in range(COUNT) if number != POISON]
    counts = Counter(time_s // WINDOW_S * WINDOW_S for time_s in times_s)
    closed = {start_s: count for start_s, count in counts.items() if start_s + WINDOW_S <= max(times_s) - 600}
    return {f"{datetime.fromtimestamp(start_s, UTC):%Y-%m-%dT%H:%M:%S}.000Z": count for start_s, count in closed.items()}


def _results(topics: KafkaAdmin, topic: str) -> list[Received]:
    return list(read_records(topics, topic))


def _counts(results: list[Received]) -> dict[str, int]:
    return {
        json.loads(key)["window_start"]: json.loads(record.value or b"")["count"]
        for key, record in latest_by_key(results).items()
    }


def _entry(location: CheckpointLocation) -> HistoryEntry:
    entry = newest_entry(location)
    assert entry is not None
    return entry


def _settings(address: str, topic: str, sink: str) -> str:
    """visits-windows is not guarded, the other two are."""
    return f"""
    [kafka]
    bootstrap_servers = "{address}"
    [pipeline.visits-windows]
    topics = {{ source = "{topic}" }}
    [pipeline.browsers-stateful]
    watermark_jump = "1d"
    topics = {{ source = "{topic}", sink = "{topic}-b" }}
    [pipeline.visits-counter]
    watermark_jump = "1d"
    topics = {{ source = "{topic}", sink = "{sink}" }}
    """


def test_a_jump_is_counted_and_named_or_stops_its_pipeline_until_its_record_is_skipped(
    project: Project, kafka: dict[str, str], topics: KafkaAdmin, topic: str
) -> None:
    sink = f"{topic}-counter"
    settings = _settings(kafka["bootstrap.servers"], topic, sink)
    project.configure(settings)
    project.ok("produce", topic, "--partition", "0", text=b"\n".join(_visits(_times_s())))
    record = f"{topic}:0:{POISON}"

    # Two are guarded, one is not.
    names = ("visits-counter", "browsers-stateful", "visits-windows")
    in_batches = ("--to", "topic", "--until-caught-up", "--max-offsets", str(A_BATCH))
    stopped = project("run", *names, *in_batches)
    assert (stopped.returncode, "refused[watermark-jump]" in stopped.stderr) == (3, True), stopped.stderr
    assert f"record {record} has the event time" in stopped.stderr
    assert "visits-windows: the watermark jumped by" in stopped.stderr

    # Unguarded: what comes behind is dropped from the second batch on that runs under the new watermark.
    anabranch = open_project(project.directory)
    unguarded = _entry(anabranch.checkpoint(anabranch.sent_to(anabranch.pipeline(VISITS_WINDOWS), "topic")))
    assert (unguarded.total_records, unguarded.total_late, unguarded.is_exact) == (COUNT, COUNT - 4 * A_BATCH, True)
    assert unguarded.jump is not None
    assert unguarded.jump.moved_by is not None
    assert (unguarded.jump.batch, unguarded.jump.moved_by.record) == (2, record)
    assert f"{COUNT - 4 * A_BATCH} late, not counted" in stopped.stderr

    # Guarded: the batch behind the jump was planned and has written nothing; and so at every start.
    before = _results(topics, sink)
    assert len(before) > 0
    location = anabranch.checkpoint(anabranch.pipeline(VISITS_COUNTER))
    assert read_logs(location.storage()).commits.newest == 2
    again = project("run", "visits-counter", "--until-caught-up")
    assert (again.returncode, "refused[watermark-jump]" in again.stderr, record in again.stderr) == (3, True, True)
    assert len(_results(topics, sink)) == len(before)

    # Or it is let pass, once.
    project.ok("run", "browsers-stateful", *in_batches, "--allow-watermark-jump")
    allowed = _entry(anabranch.checkpoint(anabranch.pipeline(BROWSERS_STATEFUL)))
    assert (allowed.total_records, allowed.total_late, allowed.jump) == (COUNT, COUNT - 4 * A_BATCH, unguarded.jump)

    # As the message says.
    assert f"anabranch rewind visits-counter --to-offset {record}" in again.stderr
    assert f'skip = ["{record}"]' in again.stderr
    project.ok("rewind", "visits-counter", "--to-offset", record, "--yes")
    project.configure(f'{settings}skip = ["{record}"]\n')
    project.ok("run", "visits-counter", "--until-caught-up", "--max-offsets", str(A_BATCH))
    assert _counts(_results(topics, sink)) == _closed_windows()
    entry = _entry(location)
    assert (entry.total_records, entry.total_problems, entry.total_late, entry.jump) == (COUNT, 1, 0, None)


def test_a_jump_may_pass_once_into_a_table_too(
    tmp_path: Path, spark: SparkSession, kafka: dict[str, str], topics: KafkaAdmin, topic: str
) -> None:
    from deltalake import DeltaTable

    from tests.support.runs import run
    from tests.support.streams import stream

    (tmp_path / "anabranch.toml").write_text(
        f'[pipeline.visits-counter]\nwatermark_jump = "1d"\ntopics = {{ source = "{topic}" }}\n', encoding="utf-8"
    )
    one = stream(tmp_path, spark, kafka, "visits-counter", Table("counts"))
    GroupProducer(kafka, topic).send([(None, visit) for visit in _visits(_times_s())], 0)
    with pytest.raises(Refused) as refused:
        run(one, topics, A_BATCH)
    assert refused.value.code == "watermark-jump"
    version = DeltaTable(one.sink).version()
    # Each batch has one, and the one that was stopped has none.
    assert version == 2
    seen = run(one, topics, A_BATCH, allows_jump=True)
    assert seen.last[0].late == COUNT - 4 * A_BATCH
    assert DeltaTable(one.sink).version() > version
    assert [reason.code for reason in seen.told] == []
