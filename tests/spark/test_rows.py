"""Rows brought to the driver one partition after the other, on Spark."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from anabranch.spark.rows import observed, rows_one_by_one
from anabranch.spark.session import Session

pytestmark = pytest.mark.spark


def _of_partitions(spark: SparkSession) -> DataFrame:
    return spark.range(0, 1000, 1, 10)


def _kept(spark: SparkSession) -> int:
    """The jobs that Spark believes to be of a query, with what they have brought."""
    queries = spark.sparkContext._jsc.sc().dagScheduler().activeQueryToJobs()
    return sum(one.getValue().size() for one in queries.entrySet().toArray())


def test_spark_keeps_nothing_of_what_was_brought(session: Session) -> None:
    before = _kept(session.spark)
    assert [row.id for row in rows_one_by_one(_of_partitions(session.spark))] == list(range(1000))
    assert _kept(session.spark) == before
    # By the frame's own iterator it does: once this fails, that way is as good.
    assert len(list(_of_partitions(session.spark).toLocalIterator())) == 1000
    assert _kept(session.spark) == before + 10


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_what_was_observed_on_the_way_is_known_behind_the_last_row(session: Session, adaptive: str) -> None:
    spark = session.spark
    name = "spark.sql.adaptive.enabled"
    was = spark.conf.get(name)
    spark.conf.set(name, adaptive)
    try:
        seen = _of_partitions(spark).observe("seen", F.expr("count(1) AS records"), F.expr("max(id) AS most"))
        frame = seen.groupBy(F.expr("id % 7 AS rest")).count().observe("groups", F.expr("count(1) AS groups"))
        assert sum(row["count"] for row in rows_one_by_one(frame)) == 1000
        assert observed(frame, "seen") == {"records": 1000, "most": 999}
        assert observed(frame, "groups") == {"groups": 7}
    finally:
        spark.conf.set(name, was or "false")
