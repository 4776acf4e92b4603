"""A stop at any moment leaves no batch planned and not committed, and changes no result."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from deltalake import DeltaTable

from anabranch.checkpoint.reader import read_logs
from anabranch.kafka.admin import KafkaAdmin
from anabranch.kafka.records import GroupProducer, latest_by_key, read_records
from anabranch.pipeline.sinks import Results, Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from anabranch.streaming.run_progress import RunProgress
    from anabranch.streaming.runner import Runner
    from tests.support.streams import Stream

pytestmark = pytest.mark.kafka

COUNT, A_BATCH, STOPS = 420, 15, 4
BEGIN_S = 1_756_969_200


@pytest.mark.parametrize("name", ["visits-lake", "visits-windows"])
def test_stopped_at_random_moments_under_load_it_leaves_nothing_planned_and_ends_with_the_same_results(
    name: str, tmp_path: Path, spark: SparkSession, kafka: dict[str, str], topics: KafkaAdmin, topic: str
) -> None:
    from tests.support.runs import run
    from tests.support.streams import stream

    (tmp_path / "anabranch.toml").write_text(f'[pipeline.{name}]\ntopics = {{ source = "{topic}" }}\n', encoding="utf-8")
    sink = Table("lake") if name == "visits-lake" else Results(f"{topic}-windows")
    one = stream(tmp_path, spark, kafka, name, sink)
    times_s = [BEGIN_S + number for number in range(COUNT)]
    visits = [json.dumps({"event_time": datetime.fromtimestamp(time_s, UTC).isoformat()}).encode() for time_s in times_s]
    GroupProducer(kafka, topic).send([(None, visit) for visit in visits], 0)
    if isinstance(sink, Results):
        topics.create(sink.name, 1)

    chance, last = random.Random(14), -1
    for _ in range(STOPS):
        runner = _stopping(one, topics, chance.randint(1, 10))
        runner.run()
        logs = read_logs(one.location.storage())
        assert logs.newest == logs.commits.newest
        assert logs.newest is not None
        assert logs.newest > last
        last = logs.newest
    run(one, topics, A_BATCH)

    if isinstance(sink, Table):
        offsets = DeltaTable(one.sink).to_pyarrow_table(columns=["offset"])["offset"].to_pylist()
        assert sorted(offsets) == [*range(COUNT)]
    else:
        latest = latest_by_key(read_records(topics, one.sink))
        counts = sorted(json.loads(record.value or b"")["count"] for record in latest.values())
        assert counts == sorted(Counter(time_s // 600 for time_s in times_s).values())


def _stopping(one: Stream, topics: KafkaAdmin, looks: int) -> Runner:
    """A run that is stopped at one of the looks after its first batch, each after an event or a quarter of a second."""
    from tests.support.runs import Seen, runner_of

    left = [looks]

    def stop(progress: Sequence[RunProgress]) -> None:
        left[0] -= progress[0].batch is not None
        if left[0] <= 0:
            runner.stop_all()

    runner = runner_of(one, topics, Seen(on_show=stop), A_BATCH, until_caught_up=False)
    return runner
