"""anabranch check on Spark's real plans: what is found, what is not, and what is proved."""

from __future__ import annotations

import json

import pytest

from tests.check.projects import project_with
from tests.support.desk import Desk

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

# A pipeline for each finding, all in one file: the command is paid for once.
MANY = """
@ab.pipeline(visits, window="10m", watermark="10m", key=("window", "page"), to=ab.results("good"))
def good(visits):
    return visits.groupBy("window", "page").agg(F.count("*").alias("visits"), F.max("visit_id").alias("last"))

@ab.pipeline(visits, window=("10m", "5m"), watermark="10m", key=("window",), to=ab.results("renamed"))
def renamed(visits):
    counted = visits.withColumnRenamed("window", "w").groupBy("w").count()
    return counted.withColumnRenamed("w", "window")

@ab.pipeline(visits, window="10m", watermark="10m", key=("window",), to=ab.results("coarse"))
def coarse(visits):
    return visits.groupBy("window", "page").count()

@ab.pipeline(visits, window="10m", watermark="10m", key=("window",), to=ab.results("ordered"))
def ordered(visits):
    return visits.groupBy("window").agg(
        F.first("page").alias("page"),
        F.sort_array(F.collect_list("page")).alias("pages"),
    )

@ab.pipeline(visits, window="10m", watermark="10m", key=("window",), to=ab.results("floats"))
def floats(visits):
    return visits.groupBy("window").agg(F.sum(F.length("page") / 3.0e0).alias("third"))

@ab.pipeline(visits, window="10m", watermark="10m", key=("window",), to=ab.results("across"), mode="update")
def across(visits):
    nowhere = F.lit(None).cast("struct<start: timestamp, end: timestamp>")
    return visits.groupBy("page").count().select(nowhere.alias("window"), "count")

@ab.pipeline(visits, window="10m", watermark="10m", key=("window",), to=ab.results("free"))
def free(visits):
    return visits.dropDuplicates(["event_id", "event_time"]).select("window", "page")

@ab.pipeline(visits, key=("page",), to=ab.results("unbounded"), mode="update")
def unbounded(visits):
    return visits.groupBy("page").count()

@ab.pipeline(visits, watermark="10m", key=("page",), to=ab.results("kept"), mode="update")
def kept(visits):
    return visits.groupBy("page").count()

@ab.pipeline(visits, watermark="10m", to=ab.console())
def own_watermark(visits):
    return visits.withWatermark("event_time", "1 hour").select("page")

@ab.pipeline(visits, to=ab.table("lake/pages", partition_by=("days",)))
def partitioned(visits):
    return visits.select("page", F.to_date("event_time").alias("day"), F.lit(None).alias("nothing"))

@ab.pipeline(visits, to=ab.console())
def unknown_column(visits):
    return visits.select(
        "pagee")

@ab.pipeline(visits, window="10m", watermark="10m", key=("window",), to=ab.results("drawn"))
def drawn(visits):
    import random
    return visits.groupBy("window").agg(F.lit(random.random()).alias("number"))

@ab.pipeline(visits, watermark="10m", to=ab.console())
def refused(visits):
    return visits.orderBy("page")
"""
EXPECTED = {
    "coarse": ("key-too-coarse", "@ab.pipeline"),
    "ordered": ("order-dependent", 'F.first("page")'),
    "floats": ("float-sum", "F.sum("),
    "across": ("across-windows", 'groupBy("page")'),
    "free": ("free-state", "@ab.pipeline"),
    "unbounded": ("state-unbounded", "@ab.pipeline"),
    "kept": ("state-not-evicted", 'groupBy("page")'),
    "own-watermark": ("own-watermark", "withWatermark"),
    "partitioned": ("column-without-type", "nothing"),
    "unknown-column": ("transform-raises", ""),
    "drawn": ("plan-changes", "random.random()"),
    "refused": ("spark-refuses", "@ab.pipeline"),
}


def test_each_finding_names_its_line_and_good_pipelines_have_none(desk: Desk) -> None:
    project = project_with(desk, MANY)
    code, found = project.findings()
    assert code == 4
    lines = (desk.project / project.file).read_text(encoding="utf-8").splitlines()
    first = {one["pipeline"]: (one["code"], one["line"]) for one in reversed(found)}
    assert {name: code for name, (code, _) in first.items()} == {name: code for name, (code, _) in EXPECTED.items()}
    for name, (_, line) in first.items():
        assert EXPECTED[name][1] in lines[line - 1], (name, line)
    assert {one["code"] for one in found if one["level"] == "warning"} == {"float-sum", "state-not-evicted"}
    assert "partition-column-missing" in {one["code"] for one in found if one["pipeline"] == "partitioned"}


def test_the_seven_have_no_findings_and_those_that_are_recomputed_are_proved(desk: Desk) -> None:
    code, said = desk("check", "--prove")
    assert code == 0, said
    assert "pipelines checked: no findings." in said
    for name in ("visits-windows", "visits-counter"):
        assert f"{name}: 80 events in 2 rounds" in said
    assert "visits-sessions: not provable: windows of it are not recomputed" in said


PLANTED = """
@ab.pipeline(visits, window="10m", watermark="10m", key=("window",), to=ab.results("ordered"))
def ordered(visits):
    newest = F.max_by("page", F.lit(1))
    return visits.groupBy("window").agg(newest.alias("page"))

@ab.pipeline(visits, window="10m", watermark="10m", key=("window",), to=ab.results("clock"), mode="update")
def clock(visits):
    @F.udf("string")
    def now(count):
        from datetime import datetime
        return str(datetime.now())
    return visits.groupBy("window").count().withColumn("at", now("count"))
"""


def test_a_planted_order_dependence_and_a_planted_clock_are_found_with_a_small_example(desk: Desk) -> None:
    code, found = project_with(desk, PLANTED).findings("--seed", "7")
    assert code == 4
    assert [(one["pipeline"], one["code"]) for one in found] == [("ordered", "not-equal"), ("clock", "not-equal")]
    ordered, clock = (one["params"] for one in found)
    # The clock differs for a single event; an order needs two.
    assert [len(json.loads(batch)) for batch in clock["batches"]] == [1]
    assert [len(json.loads(batch)) for batch in ordered["batches"]] == [1, 1]
    assert ordered["seed"] == 7
