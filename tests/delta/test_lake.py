"""Queries of a lake by deltalake's own engine: every bound, year and quote is taken literally."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from anabranch.delta.lake import inspect_lake, problem_counts, read_problems, records_within
from anabranch.errors import Failed
from anabranch.project.lake import lake_state
from anabranch.project.project import open_project

TOPIC = 'it\'s "visits"'
START, END = datetime(2025, 9, 4, 7, 0, tzinfo=UTC), datetime(2025, 9, 4, 7, 10, tzinfo=UTC)
FIRST_YEAR, LAST_YEAR = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Good visits on both bounds and in the first and last year; then two that have a problem."""
    times = [START, END.replace(minute=9, second=59, microsecond=999999), END, FIRST_YEAR, LAST_YEAR, None, START]
    problems = [None] * 5 + ["it's bad", "no event_time"]
    moments = pa.timestamp("us", "UTC")
    rows = {
        "topic": pa.array([TOPIC] * 7),
        "partition": pa.array([0, 1, 0, 1, 0, 1, 0], pa.int32()),
        "offset": pa.array(range(7), pa.int64()),
        "record_time": pa.array([END] * 7, moments),
        "event_time": pa.array(times, moments),
        "problem": pa.array(problems, pa.string()),
        "value": pa.array([b"x"] * 7),
    }
    write_deltalake(tmp_path / "lake", pa.table(rows))
    return tmp_path / "lake"


def test_records_are_counted_from_the_first_bound_up_to_the_second_without_it(lake: Path) -> None:
    _, records = records_within(lake, TOPIC, [(START, END)])
    assert records == {0: (1, 0), 1: (1, 1)}


def test_the_first_and_the_last_year_are_years_like_any_other(lake: Path) -> None:
    _, records = records_within(lake, TOPIC, [(FIRST_YEAR, LAST_YEAR)])
    assert records == {0: (2, 2), 1: (2, 3)}
    assert inspect_lake(lake).newest_event == "9999-12-31T23:59:59.999999Z"


def test_a_lake_is_summed_up_with_its_bad_records(lake: Path) -> None:
    state = inspect_lake(lake)
    assert (state.rows, state.files, state.offsets) == (7, 1, {TOPIC: {0: (0, 7), 1: (1, 6)}})
    assert state.newest_record == "2025-09-04T07:10:00Z"


def test_problems_are_found_by_any_reason_text(lake: Path) -> None:
    assert problem_counts(lake) == {"it's bad": 1, "no event_time": 1}
    assert [problem.offset for problem in read_problems(lake, "it's bad", 10)] == [5]
    assert [problem.offset for problem in read_problems(lake, None, 10)] == [6, 5]
    assert read_problems(lake, None, 1)[0].partition == 0
    assert read_problems(lake, None, 0) == read_problems(lake, "x' OR 1 = 1 --", 10) == []


def test_a_lake_without_rows_has_nothing_newest(lake: Path) -> None:
    DeltaTable(lake).delete()
    state = inspect_lake(lake)
    assert (state.rows, state.offsets, state.newest_record, state.newest_event) == (0, {}, None, None)


def test_a_lake_that_lacks_a_file_is_reported_with_the_file_and_the_remedies(lake: Path) -> None:
    next(lake.glob("*.parquet")).unlink()
    for inspect in (inspect_lake, problem_counts):
        params = _unreadable(lake, inspect)
        assert ".parquet" in params["reason"]
        assert [remedy.code for remedy in params["remedies"]] == ["restore-table", "table-aside"]


def _unreadable(lake: Path, inspect: Callable[[Path], object]) -> Mapping[str, Any]:
    with pytest.raises(Failed) as failed:
        inspect(lake)
    assert (failed.value.code, failed.value.reason.params["path"]) == ("table-unreadable", str(lake))
    return failed.value.reason.params


def test_a_lake_whose_log_is_garbage_is_reported(lake: Path) -> None:
    next(lake.glob("_delta_log/*.json")).write_text("garbage", encoding="utf-8")
    _unreadable(lake, inspect_lake)


def test_a_lake_that_was_never_written_is_reported_with_the_pipeline_that_writes_it(tmp_path: Path) -> None:
    with pytest.raises(Failed) as failed:
        lake_state(open_project(tmp_path), "visits")
    assert (failed.value.code, failed.value.remedies) == ("no-lake", ("anabranch run visits-lake --until-caught-up",))
