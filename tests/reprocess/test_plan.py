"""Which windows may be recomputed, and what a plan says: pure."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.cli.main import run_command
from anabranch.errors import Misused, Refused
from anabranch.operations.log import record_plan
from anabranch.pipeline.definition import (
    BROWSERS_STATELESS,
    PIPELINES,
    VISITS_COUNTER,
    VISITS_LOG,
    VISITS_SESSIONS,
    Console,
    Table,
    Topic,
    sink_for,
    split_target,
)
from anabranch.project.project import open_project
from anabranch.reprocess.plan import (
    Change,
    Range,
    ReprocessPlan,
    StreamState,
    changes_between,
    check_closed,
    check_lake,
    check_recomputable,
    explain,
    partitions_of,
    split_range,
    whole_windows,
)
from anabranch.reprocess.staleness import InputSnapshot
from anabranch.text.instants import parse_instant

MINUTE = 60_000
SEVEN = 1756969200000  # 2025-09-04T07:00Z


@given(st.integers(0, 10**13), st.integers(1, 10**9), st.sampled_from([60, 300, 600, 3600]))
def test_a_range_is_widened_to_whole_windows_and_by_less_than_one_at_each_end(start: int, length: int, window_s: int) -> None:
    asked, wide = Range(start, start + length), whole_windows(Range(start, start + length), window_s)
    window_ms = window_s * 1000
    assert wide.start_ms % window_ms == wide.end_ms % window_ms == 0
    assert 0 <= asked.start_ms - wide.start_ms < window_ms
    assert 0 <= wide.end_ms - asked.end_ms < window_ms


@pytest.mark.parametrize("end", [SEVEN, SEVEN - MINUTE])
def test_an_empty_or_reversed_range_is_refused(end: int) -> None:
    with pytest.raises(Refused, match="is empty"):
        whole_windows(Range(SEVEN, end), 600)


def _state(watermark: int | None = SEVEN + 60 * MINUTE, *, ahead: int = 0, stream: int = 10, lake: int = 10) -> StreamState:
    next_watermark = None if watermark is None else watermark + ahead
    return StreamState(watermark, next_watermark, {0: stream}, {0: lake})


WINDOW = Range(SEVEN, SEVEN + 10 * MINUTE)
GROUND = InputSnapshot("source", "results", {0: (0, 7), 1: (0, 3)}, "stream", "lake", {0: (5, 11)})


def test_a_closed_window_that_the_lake_has_may_be_recomputed() -> None:
    _check(_state())
    _check(_state(watermark=WINDOW.end_ms))


def _check(state: StreamState) -> None:
    check_closed(VISITS_COUNTER, WINDOW, state)
    check_lake(VISITS_COUNTER, state)


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (_state(watermark=None), "has never run"),
        (_state(watermark=WINDOW.end_ms - 1), "closed when it has read an event at 2025-09-04T07:20:00Z"),
        # The batch that moves the watermark gives nothing yet: the next one does, and drops late visits from then on.
        (_state(watermark=WINDOW.end_ms - 1, ahead=1), "its next batch closes them"),
        (_state(stream=12), "2 records of partition 0"),
        (StreamState(SEVEN + 60 * MINUTE, SEVEN + 60 * MINUTE, {0: 5}, {}), "5 records of partition 0"),
    ],
)
def test_what_the_stream_may_still_give_or_the_lake_does_not_have_is_refused(state: StreamState, reason: str) -> None:
    with pytest.raises(Refused) as refused:
        _check(state)
    assert reason in str(refused.value)


def test_pipelines_without_windows_of_their_own_are_refused_with_a_reason() -> None:
    for pipeline, reason in ((VISITS_LOG, "no windows"), (VISITS_SESSIONS, "no windows"), (BROWSERS_STATELESS, "each batch")):
        with pytest.raises(Refused, match=reason):
            check_recomputable(pipeline)
    check_recomputable(VISITS_COUNTER)


def test_partitions_are_the_hours_of_a_half_open_range() -> None:
    assert partitions_of(Range(SEVEN, SEVEN + 60 * MINUTE)) == (2025090407, 2025090407)
    assert partitions_of(Range(SEVEN, SEVEN + 60 * MINUTE + 1)) == (2025090407, 2025090408)


@given(
    st.integers(0, 10**6),
    st.integers(1, 60),
    st.sampled_from([60, 300, 420, 3600, 86_400]),
    st.dictionaries(st.integers(0, 23), st.integers(1, 9)),
    st.integers(1, 20),
)
def test_portions_make_up_the_range_window_by_window_and_every_row_is_in_one(
    first: int, windows: int, window_s: int, rows: dict[int, int], at_most: int
) -> None:
    wanted = Range(first * window_s * 1000, (first + windows) * window_s * 1000)
    first_hour, last_hour = partitions_of(wanted)
    by_hour = {hour: count for hour, count in ((first_hour // 100 * 100 + h, n) for h, n in rows.items()) if hour <= last_hour}
    by_hour = {hour: count for hour, count in by_hour.items() if hour >= first_hour}
    parts = list(split_range(wanted, window_s, by_hour, at_most))
    assert [part.range.start_ms for part in parts] == [wanted.start_ms, *(part.range.end_ms for part in parts[:-1])]
    assert parts[-1].range.end_ms == wanted.end_ms
    assert all(part.range.start_ms % (window_s * 1000) == 0 < part.range.end_ms - part.range.start_ms for part in parts)
    assert sum(part.rows for part in parts) == sum(by_hour.values())


def test_a_large_range_is_cut_where_its_rows_are() -> None:
    day = Range(SEVEN, SEVEN + 180 * MINUTE)
    parts = list(split_range(day, 600, {2025090407: 6, 2025090408: 5, 2025090409: 1}, 10))
    assert [(part.range.end_ms - SEVEN, part.rows) for part in parts] == [(60 * MINUTE, 6), (180 * MINUTE, 6)]


def test_a_plan_says_what_would_change_and_what_would_not() -> None:
    key = '{"window_start":"2025-09-04T07:00:00.000Z"}'
    changes = changes_between([(key, '{"count":5}')], {key: '{"count":3}'})
    assert changes == (Change(key, '{"count":3}', '{"count":5}'),)
    asked = Range(SEVEN + MINUTE, SEVEN + 2 * MINUTE)
    plan = ReprocessPlan("id", "visits-counter", "visits_counter", asked, WINDOW, 1, "lake", 4, 2, 11, changes, GROUND)
    words = "\n".join(explain(plan))
    assert "2025-09-04T07:00:00.000Z  3 -> 5" in words
    assert "widened to whole windows" in words
    assert "version 4: 2 files, 11 rows" in words
    same = changes_between([(key, '{"count":5}')], {key: '{"count":5}'})
    assert "5 (as it is)" in "\n".join(
        explain(ReprocessPlan("id", "p", "t", WINDOW, WINDOW, 1, "lake", 4, 2, 11, same, GROUND))
    )


def test_a_long_plan_shows_what_changes_and_counts_the_rest() -> None:
    results = [(f'{{"user":"{number:04}"}}', '{"count":2}') for number in range(1000)]
    latest = {key: '{"count":2}' for key, _ in results[:-1]}
    plan = ReprocessPlan("id", "p", "t", WINDOW, WINDOW, 1, "lake", 4, 2, 11, changes_between(results, latest), GROUND)
    words = list(explain(plan))
    assert "    0999  none -> 2" in words
    assert "    and 980 more: --json shows them all" in words
    assert len(words) < 30


def test_keys_and_values_of_anybody_cannot_act_on_a_screen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    browser = "\x1b[2J\x9b31m\u202exoferiF"
    changes = changes_between(
        [(json.dumps({"browser": browser}), '{"count":5}')], {json.dumps({"browser": browser}): "\x1b]0;"}
    )
    plan = ReprocessPlan("id", "p", "t\x1b", WINDOW, WINDOW, 1, "lake", 4, 2, 11, changes, GROUND)
    record_plan(open_project(tmp_path), "id", "reprocess", asdict(plan))
    for options in ([], ["--json"]):
        assert run_command(["-C", str(tmp_path), "operations", "id", *options]) == 0
        shown = capsys.readouterr().out
        assert all(char.isprintable() or char == "\n" for char in shown)
    assert json.loads(json.loads(shown)["plan"]["changes"][0]["key"])["browser"] == browser
    assert run_command(["-C", str(tmp_path), "undo", "\x1b[2J", "--yes"]) == 2
    assert "\x1b" not in capsys.readouterr().err


def test_a_time_that_the_zone_skips_is_refused() -> None:
    with pytest.raises(Refused, match="does not exist in Europe/Paris"):
        parse_instant("2025-03-30T02:30", "Europe/Paris")
    assert parse_instant("2025-03-30T03:00", "Europe/Paris").isoformat() == "2025-03-30T03:00:00+02:00"


def test_the_word_behind_the_pipelines_is_the_target() -> None:
    assert split_target(["visits-counter", "elsewhere"], "topic") == (["visits-counter"], "elsewhere")
    assert split_target(["visits-counter"], "topic") == (["visits-counter"], None)
    assert split_target(["visits-counter", "visits-log"], "topic") == (["visits-counter", "visits-log"], None)
    assert split_target(["visits-counter", "nope"], None) == (["visits-counter", "nope"], None)


def test_a_sink_is_what_was_asked_for_or_a_clear_no() -> None:
    assert sink_for(VISITS_COUNTER, None, None) is None
    assert sink_for(VISITS_COUNTER, "console", None) == Console()
    assert sink_for(VISITS_SESSIONS, "topic", None) == Topic("visits_sessions")
    assert sink_for(VISITS_COUNTER, "table", "x") == Table("x")
    wrong = ((VISITS_SESSIONS, "table", "x"), (VISITS_COUNTER, "table", None), (VISITS_COUNTER, "mars", None))
    for pipeline, to, target in wrong:
        with pytest.raises(Misused):
            sink_for(pipeline, to, target)


def test_every_pipeline_that_keeps_state_has_a_watermark() -> None:
    for pipeline in PIPELINES:
        if pipeline.output_mode == "update":
            assert pipeline.watermark_s is not None, pipeline.name
