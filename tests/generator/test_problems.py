"""What the ledger says of generated records, beside what the decoder says of them."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice

import pytest
from pyspark.sql import SparkSession

from anabranch.generator.events import events, faults_of
from anabranch.generator.recipe import Recipe
from anabranch.generator.spoil import Fault
from anabranch.generator.visits import FAULTS, visits
from anabranch.pipeline.builtin.visits import VISITS
from anabranch.pipeline.topic import Topic
from anabranch.streaming.decoder.decode import decode
from tests.generator.test_events import CLICKS, ORDERS

pytestmark = pytest.mark.spark

_TIME = datetime(2025, 9, 4, 12, tzinfo=UTC)


def problems(spark: SparkSession, topic: Topic, values: list[bytes]) -> list[str | None]:
    rows = [(value, topic.name, 0, offset, _TIME) for offset, value in enumerate(values)]
    records = spark.createDataFrame(rows, "value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP")
    decoded = decode(records, topic, zone="UTC", future_tolerance_s=3600)
    return [row._problem for row in decoded.select("_problem", "_offset").orderBy("_offset").collect()]


@pytest.mark.parametrize(("topic", "faults"), [(ORDERS, faults_of(ORDERS)), (CLICKS, faults_of(CLICKS)), (VISITS, FAULTS)])
def test_the_decoder_reports_each_fault_as_it_says_and_nothing_of_good_records(
    topic: Topic, faults: tuple[Fault, ...], spark: SparkSession
) -> None:
    recipe = Recipe(seed=7, late=0.1, out_of_order=0.1, duplicate=0.1)
    good = [made.value for made in islice(visits(recipe) if topic is VISITS else events(topic, recipe), 300)]
    broken = [fault.spoil(value) for fault, value in zip(faults, good, strict=False)]
    found = problems(spark, topic, [*good, *broken])
    assert found[:300] == [None] * 300
    told = [fault.problem or problem for fault, problem in zip(faults, found[300:], strict=True)]
    assert found[300:] == told
    assert None not in told
