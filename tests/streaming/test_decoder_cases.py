"""The decoder, case by case: every record is a good event or has a problem, whatever the session and the reader."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import Row, SparkSession

from anabranch.pipeline.builtin.visits import VISITS
from anabranch.streaming.decoder.decode import SKIPPED, decode
from tests.streaming.decoder_cases import BROKEN, CASES, FUTURE, HOUR_S, SEVEN, ZONE, at
from tests.streaming.decoder_frames import COLUMNS, RECORD_TIME_S, RECORDS, in_utc, records, utc_text

pytestmark = pytest.mark.spark


@contextmanager
def session_zone(spark: SparkSession, zone: str) -> Iterator[None]:
    before = spark.conf.get("spark.sql.session.timeZone")
    assert before is not None
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        yield
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


@pytest.fixture(scope="module")
def decoded(spark: SparkSession) -> list[Row]:
    """All cases in one job."""
    return in_utc(decode(records(spark, [case.value for case in CASES]), VISITS, zone=ZONE, future_tolerance_s=HOUR_S))


@pytest.mark.parametrize(
    "number", range(len(CASES)), ids=lambda number: f"{CASES[number].problem or 'good'}, {CASES[number].name}"
)
def test_a_record_is_decoded_or_its_problem_named(decoded: list[Row], number: int) -> None:
    case, row = CASES[number], decoded[number]
    assert row._problem == case.problem
    shown = {**row.asDict(), "event_time": utc_text(row.event_time)}
    assert {name: shown[name] for name, _ in case.columns} == dict(case.columns)


def test_the_columns_come_in_a_fixed_order_and_the_bytes_as_they_came(spark: SparkSession, decoded: list[Row]) -> None:
    assert decoded[0].__fields__ == COLUMNS
    assert [row._value for row in decoded] == [case.value for case in CASES]
    assert [row._offset for row in decoded] == list(range(len(CASES)))
    first = decoded[0]
    assert (first._topic, first._partition, first._record_time) == ("visits", 1, RECORD_TIME_S * 1_000_000)
    assert (first._key, first._headers) == (b"k", [Row(key="h", value=b"v")])
    without_headers = decode(records(spark, []).drop("headers"), VISITS, zone=ZONE, future_tolerance_s=None)
    assert without_headers.columns == COLUMNS[:-1]
    assert dict(without_headers.dtypes)["event_time"] == "timestamp"


def test_a_record_to_skip_has_that_problem_and_no_other_and_the_rest_is_as_it_was(
    spark: SparkSession, decoded: list[Row]
) -> None:
    values = [case.value for case in CASES]
    skip = ["visits:1:0", f"visits:1:{len(CASES) - 1}", "visits:0:1", "other:1:2"]
    found = in_utc(decode(records(spark, values), VISITS, zone=ZONE, future_tolerance_s=HOUR_S, skip=skip))
    assert [row._offset for row in found if row._problem == SKIPPED] == [0, len(CASES) - 1]
    assert [row.event_time for row in found] == [row.event_time for row in decoded]
    assert found[1:-1] == decoded[1:-1]


def test_records_whose_json_is_broken_have_no_event_time(decoded: list[Row]) -> None:
    broken = {case.problem for case in BROKEN}
    assert all(row.event_time is None for row in decoded if row._problem in broken)


def test_every_record_decodes_the_same_whatever_the_sessions_zone(spark: SparkSession, decoded: list[Row]) -> None:
    for zone in ("America/Los_Angeles", "Asia/Kathmandu"):
        with session_zone(spark, zone):
            assert (
                in_utc(decode(records(spark, [case.value for case in CASES]), VISITS, zone=ZONE, future_tolerance_s=HOUR_S))
                == decoded
            )


@pytest.mark.parametrize(
    ("zone", "time"), [("UTC", "07:00"), ("Asia/Kathmandu", "01:15"), ("+02:00", "05:00"), ("Etc/GMT+2", "09:00")]
)
def test_a_time_without_a_zone_is_in_the_zone_asked_for(spark: SparkSession, zone: str, time: str) -> None:
    values: list[bytes | None] = [at(text).encode() for text in (SEVEN, "2025-09-04 07:00", "2025-09-04T07:00:00.000000")]
    rows = in_utc(decode(records(spark, values), VISITS, zone=zone, future_tolerance_s=None))
    assert {utc_text(row.event_time) for row in rows} == {f"2025-09-04 {time}:00"}


def test_without_a_guard_any_future_is_good(spark: SparkSession) -> None:
    values = [case.value for case in FUTURE if "wrong" not in case.name]
    rows = in_utc(decode(records(spark, values), VISITS, zone=ZONE, future_tolerance_s=None))
    assert [row._problem for row in rows] == [None] * len(values)


def test_a_stream_decodes_as_a_batch_does(spark: SparkSession, decoded: list[Row], tmp_path: Path) -> None:
    records(spark, [case.value for case in CASES]).write.parquet(str(tmp_path / "records"))
    stream = spark.readStream.schema(RECORDS).parquet(str(tmp_path / "records"))
    query = (
        decode(stream, VISITS, zone=ZONE, future_tolerance_s=HOUR_S)
        .writeStream.format("memory")
        .queryName("decoded")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert in_utc(spark.table("decoded")) == decoded
