"""The runner by itself: a run ends also where Spark loses the event that says so."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from anabranch.kafka.admin import KafkaAdmin
from anabranch.kafka.records import GroupProducer
from anabranch.pipeline.builtin.visits_log import VISITS_LOG
from anabranch.project.project import open_project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from anabranch.errors import Reason
    from anabranch.streaming.run_progress import RunProgress
    from anabranch.streaming.runner import Runner

pytestmark = pytest.mark.kafka

# At most four a second.
MOST_TICKS = 480


class StopsUnheard:
    """Once a batch was reported, Spark's events no longer arrive, and the run is asked to stop."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self.runner: Runner | None = None
        self.states: list[str] = []

    def tell(self, reason: Reason) -> None:
        del reason

    def out(self, lines: str) -> None:
        del lines

    def show(self, progress: Sequence[RunProgress]) -> None:
        (one,) = progress
        self.states.append(one.state)
        # A run that waits for the event would wait for ever.
        assert len(self.states) < MOST_TICKS, "the run did not end"
        assert self.runner is not None
        if one.batch is not None and not self.runner.is_stopping:
            self.spark.streams.removeListener(self.runner._listener)
            self.runner.stop_all()


def test_a_run_ends_although_the_event_of_its_end_is_lost(
    spark: SparkSession, kafka: dict[str, str], topics: KafkaAdmin, topic: str, tmp_path: Path
) -> None:
    from anabranch.streaming.runner import Runner
    from anabranch.streaming.running import PipelineRun
    from anabranch.streaming.sinks.base import QueryRun

    GroupProducer(kafka, topic).send([(None, json.dumps({"event_time": "2025-09-04T07:00:00Z"}).encode())])
    pipeline = VISITS_LOG.reading(topic).changed(trigger_s=0.0)
    location = open_project(tmp_path).checkpoint(pipeline)
    released: list[bool] = []
    query = QueryRun(pipeline, str(location), kafka, "UTC", ("earliest",), until_caught_up=False)
    output = StopsUnheard(spark.newSession())
    run = PipelineRun(query, location, lambda: released.append(True), lambda: None, pipeline.name)
    output.runner = Runner(output.spark, [run], topics, output, "no log")
    output.runner.run()
    assert (output.states[-1], released) == ("stopped", [True])
