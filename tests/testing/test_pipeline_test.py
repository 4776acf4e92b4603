"""anabranch.testing: batches in, results out, by the pipeline's real query."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

import anabranch as ab
from anabranch.errors import AnabranchError
from anabranch.pipeline.builtin.visits import VISITS
from anabranch.testing import PipelineTest, Record
from anabranch.text.json_text import json_text
from tests.support.harness import python_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@ab.pipeline(VISITS, window="10m", watermark="10m", key=("window", "page"), to=ab.results("pages"))
def pages(visits: DataFrame) -> DataFrame:
    """Visits by page."""
    return visits.groupBy("window", "page").count()


@ab.pipeline(VISITS, to=ab.console())
def lengths(visits: DataFrame) -> DataFrame:
    """A UDF that does not take every page."""
    from pyspark.sql import functions as F

    return visits.select(F.udf(_length, "int")("page").alias("length"))


def _length(page: str) -> int:
    if page == "broken":
        raise ValueError("no such page")
    return len(page)


def at(minute: int) -> datetime:
    return datetime(2026, 1, 1, 10, minute, tzinfo=UTC)


def visit(page: str, minute: int) -> dict[str, object]:
    return {"page": page, "event_time": at(minute)}


def window(minute: int) -> dict[str, datetime]:
    return {"start": at(minute), "end": at(minute + 10)}


@pytest.mark.spark
def test_windows_close_by_the_watermark_late_records_are_counted_and_a_repeated_batch_gives_the_same(
    spark: SparkSession,
) -> None:
    del spark
    with PipelineTest(pages) as stream:
        assert stream.batch([visit("b", 1), visit("a", 2), visit("b", 3)]) == []
        assert stream.watermark is None or stream.watermark < at(0)
        closed = stream.batch([visit("a", 29)])
        assert closed == [{"window": window(0), "page": "a", "count": 1}, {"window": window(0), "page": "b", "count": 2}]
        assert stream.watermark == at(19)
        assert stream.restart() == closed
        assert stream.batch([visit("a", 4), visit("a", 21)]) == []
        assert stream.late == 1
        assert stream.problems == []


@pytest.mark.spark
def test_a_record_that_the_decoder_rejects_is_listed_with_its_problem(spark: SparkSession) -> None:
    del spark
    with PipelineTest(pages) as stream:
        future = Record(visit("a", 1), timestamp=datetime(2025, 1, 1, tzinfo=UTC))
        stream.batch(["no json", b"\xff", None, future, visit("a", 1)])
        found = [(one.offset, one.problem) for one in stream.problems]
        assert [offset for offset, _ in found] == [0, 1, 2, 3]
        assert found[-1] == (3, "event_time in the future")


# PySpark looks for hints of pandas in a UDF, and warns of others.
@pytest.mark.filterwarnings("ignore:Cannot infer the eval type")
@pytest.mark.spark
def test_a_udf_that_raises_is_named_with_its_line(spark: SparkSession) -> None:
    del spark
    with PipelineTest(lengths) as stream:
        assert stream.batch([visit("a", 1)]) == [{"length": 1}]
        with pytest.raises(AnabranchError) as raised:
            stream.batch([visit("broken", 1)])
    assert raised.value.code == "rehearsal-failed"
    assert raised.value.reason.params["kind"] == "ValueError"
    assert raised.value.reason.params["sentence"] == "no such page"
    assert raised.value.reason.params["where"] == f"{__file__}:{_length.__code__.co_firstlineno + 2}"


@pytest.mark.spark
def test_a_session_that_the_user_started_serves_as_well(tmp_path: Path) -> None:
    """A plain one, which has nothing of ours on its class path."""
    script = tmp_path / "own_session.py"
    script.write_text(
        dedent(
            """
            from pyspark.sql import SparkSession
            SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
            from anabranch.testing import PipelineTest
            from tests.testing.test_pipeline_test import pages, visit
            with PipelineTest(pages) as stream:
                stream.batch([visit("a", 1)])
                print([row["count"] for row in stream.batch([visit("a", 29)])])
            """
        )
    )
    environment = {**os.environ, "PYTHONPATH": python_path(Path(__file__).parents[2])}
    done = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[1]", done.stderr


def test_a_batch_outside_of_the_block_and_records_of_another_topic_are_refused() -> None:
    with pytest.raises(AnabranchError) as raised:
        PipelineTest(pages).batch([])
    assert raised.value.code == "test-not-entered"
    with pytest.raises(AnabranchError) as raised:
        PipelineTest(pages).batch({"orders": []})
    assert raised.value.code == "not-a-topic"


def test_python_values_are_written_as_json_to_the_last_digit() -> None:
    value = {"a": Decimal("12345678901234567890.10"), "b": [1, None, True], "c": at(1), "d": {"e": "ü"}}
    assert json_text(value) == (
        '{"a": 12345678901234567890.10, "b": [1, null, true], "c": "2026-01-01T10:01:00+00:00", "d": {"e": "ü"}}'
    )
    with pytest.raises(AnabranchError):
        json_text({"a": object()})


def test_importing_it_loads_no_pyspark() -> None:
    code = "import sys, anabranch.testing; assert 'pyspark' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
