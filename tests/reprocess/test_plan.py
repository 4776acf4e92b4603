"""Which windows may be recomputed, and what a plan says: pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.cli.main import run_command
from anabranch.errors import Reason, Refused
from anabranch.pipeline.builtin.browsers_stateless import BROWSERS_STATELESS
from anabranch.pipeline.builtin.visits_counter import VISITS_COUNTER
from anabranch.pipeline.builtin.visits_log import VISITS_LOG
from anabranch.pipeline.builtin.visits_sessions import VISITS_SESSIONS
from anabranch.pipeline.builtin.visits_windows import VISITS_WINDOWS
from anabranch.pipeline.definition import Pipeline
from anabranch.pipeline.sinks import Results
from anabranch.pipeline.windows import Windows
from anabranch.project.project import open_project
from anabranch.reprocess.apply import REPROCESS
from anabranch.reprocess.explain import explain_reprocess
from anabranch.reprocess.plan import (
    Change,
    Range,
    StreamState,
    Unexpected,
    check_closed,
    hours_of,
    is_of,
    whole_windows,
    with_topic,
)
from anabranch.reprocess.results_file import read_results, write_results
from anabranch.reprocess.tally import MOST_NAMED
from tests.support.plans import WINDOW, reprocess_plan

MINUTE = 60_000
SEVEN = 1756969200000  # 2025-09-04T07:00Z


@given(st.integers(0, 10**13), st.integers(1, 10**9), st.sampled_from([60, 300, 600, 3600]))
def test_a_range_is_widened_to_whole_windows_and_by_less_than_one_at_each_end(start: int, length: int, window_s: int) -> None:
    asked, wide = (
        Range(start, start + length),
        whole_windows(Range(start, start + length), Windows(window_s * 1000, window_s * 1000)),
    )
    window_ms = window_s * 1000
    assert wide.start_ms % window_ms == wide.end_ms % window_ms == 0
    assert 0 <= asked.start_ms - wide.start_ms < window_ms
    assert 0 <= wide.end_ms - asked.end_ms < window_ms


@pytest.mark.parametrize("end", [SEVEN, SEVEN - MINUTE])
def test_an_empty_or_reversed_range_is_refused(end: int) -> None:
    with pytest.raises(Refused) as refused:
        whole_windows(Range(SEVEN, end), Windows(600_000, 600_000))
    assert refused.value.code == "empty-range"


def _state(watermark: int | None = SEVEN + 60 * MINUTE, *, ahead: int = 0) -> StreamState:
    return StreamState(watermark, None if watermark is None else watermark + ahead)


def test_a_closed_window_may_be_recomputed() -> None:
    _check(_state())
    _check(_state(watermark=WINDOW.end_ms))


def _check(state: StreamState) -> None:
    check_closed(VISITS_COUNTER, WINDOW, state)


@pytest.mark.parametrize(
    ("state", "code", "about"),
    [
        (_state(watermark=WINDOW.end_ms - 1), "closes-with-event", {"time": "2025-09-04T07:20:00Z"}),
        # The batch that moves the watermark emits nothing yet: the next one does, and drops late visits from then on.
        (_state(watermark=WINDOW.end_ms - 1, ahead=1), "closes-next-batch", {"pipeline": "visits-counter"}),
    ],
)
def test_windows_that_the_stream_may_still_emit_are_refused_with_when_they_close(
    state: StreamState, code: str, about: dict[str, str]
) -> None:
    params = _refused(state, "windows-open")
    assert (params["end"], params["watermark"]) == ("2025-09-04T07:10:00Z", "2025-09-04T07:09:59.999Z")
    assert params["when"] == Reason(code, about)


def test_windows_of_a_pipeline_that_never_ran_are_refused() -> None:
    assert _refused(_state(watermark=None), "never-ran") == {"pipeline": "visits-counter"}


def _refused(state: StreamState, code: str) -> Mapping[str, object]:
    with pytest.raises(Refused) as refused:
        _check(state)
    assert refused.value.code == code
    return refused.value.reason.params


@pytest.mark.parametrize(
    ("pipeline", "code"),
    [
        (VISITS_LOG, "no-windows"),
        (VISITS_SESSIONS, "no-windows"),
        (BROWSERS_STATELESS, "counts-per-batch"),
        (VISITS_WINDOWS, "no-result-topic"),
    ],
)
def test_a_pipeline_whose_windows_cannot_be_recomputed_is_refused_with_the_reason(pipeline: Pipeline, code: str) -> None:
    with pytest.raises(Refused) as refused:
        with_topic(pipeline, None)
    assert (refused.value.code, refused.value.reason.params) == (code, {"pipeline": pipeline.name})


def test_the_topic_to_correct_is_the_pipelines_own_or_the_one_that_is_named() -> None:
    assert with_topic(VISITS_COUNTER, None) == VISITS_COUNTER
    assert with_topic(VISITS_WINDOWS, "counts").sink == Results("counts")
    for pipeline in (VISITS_LOG, BROWSERS_STATELESS):
        with pytest.raises(Refused):
            with_topic(pipeline, "counts")


def test_hours_are_those_of_a_half_open_range() -> None:
    assert hours_of(Range(SEVEN, SEVEN + 60 * MINUTE)) == (2025090407, 2025090407)
    assert hours_of(Range(SEVEN, SEVEN + 60 * MINUTE + 1)) == (2025090407, 2025090408)


def test_a_plan_says_what_would_change_and_what_would_not() -> None:
    key = '{"window_start":"2025-09-04T07:00:00.000Z"}'
    asked = Range(SEVEN + MINUTE, SEVEN + 2 * MINUTE)
    plan = reprocess_plan([(key, '{"count":3}', '{"count":5}')], asked=asked)
    assert plan.changes == (Change(key, '{"count":3}', '{"count":5}'),)
    words = "\n".join(explain_reprocess(plan))
    assert "2025-09-04T07:00:00.000Z  3 -> 5" in words
    assert "widened to whole windows" in words
    assert "version 4: 2 files, 11 rows" in words
    same = reprocess_plan([(key, '{"count":5}', '{"count":5}')])
    assert "5 (unchanged)" in "\n".join(explain_reprocess(same))


def test_a_result_belongs_to_a_range_by_its_key_and_what_is_no_key_of_ours_to_none() -> None:
    assert is_of('{"window_start":"2025-09-04T07:00:00.000Z","browser":null}', [WINDOW])
    others = ('{"window_start":"2025-09-04T07:10:00.000Z"}', '{"window_start":7}', "not ours", "[]", '{"window_start":"07:00"}')
    # Whoever may write to the topic chooses its keys.
    assert not is_of("[" * 100_000, [WINDOW])
    assert not any(is_of(other, [WINDOW]) for other in others)


def test_a_result_of_a_window_without_records_is_shown_as_what_it_is_and_never_as_no_results() -> None:
    key = '{"window_start":"2025-09-04T07:00:00.000Z"}'
    plan = reprocess_plan([(key, '{"count":3}', None)])
    assert plan.unexpected == (Unexpected(key, '{"count":3}'),)
    words = "\n".join(explain_reprocess(plan))
    assert "2025-09-04T07:00:00.000Z  3 in the topic, no record in the lake" in words
    assert "0 results" not in words


def test_a_long_plan_shows_what_changes_and_counts_the_rest() -> None:
    keys = [f'{{"user":"{number:04}"}}' for number in range(5000)]
    results = [(key, '{"count":2}', '{"count":2}') for key in keys[:-1]] + [(keys[-1], None, '{"count":2}')]
    plan = reprocess_plan(results)
    assert (plan.results, plan.changed, len(plan.changes)) == (5000, 1, MOST_NAMED)
    words = list(explain_reprocess(plan))
    assert "    4999  none -> 2" in words
    assert "    and 4,980 more: --json shows the first 1,000" in words
    assert len(words) < 30


@given(st.lists(st.tuples(st.integers(0, 9999), st.booleans()), max_size=300, unique_by=lambda one: one[0]))
def test_a_tally_counts_every_result_and_names_those_that_change_first(drawn: list[tuple[int, bool]]) -> None:
    results = [(f"{number:04}", "1" if same else None, "1") for number, same in drawn]
    plan = reprocess_plan(results)
    assert (plan.results, plan.changed) == (len(drawn), sum(not same for _, same in drawn))
    assert [change.key for change in plan.changes] == sorted(key for key, _, _ in results)


def test_what_is_written_of_a_plans_results_is_read_again_as_far_as_it_is_whole(tmp_path: Path) -> None:
    changes = [Change(f"{{{number}}}", None if number % 2 else "1", f"☃{number}") for number in range(1000)]
    path = tmp_path / "operation" / "results.jsonl.gz"
    write_results(path, changes)
    assert list(read_results(path)) == changes
    path.write_bytes(path.read_bytes()[:-100])
    assert len(list(read_results(path))) < 1000
    path.unlink()
    assert list(read_results(path)) == []


def test_control_characters_in_keys_and_values_are_escaped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    operation, browser = "20250904T070000-reprocess-1a2b", "\x1b[2J\x9b31m\u202exoferiF"
    results = [(json.dumps({"browser": browser}), "\x1b]0;", '{"count":5}')]
    plan = reprocess_plan(results, operation=operation, topic="t\x1b")
    open_project(tmp_path).operations.record_plan(operation, REPROCESS, plan)
    for options in ([], ["--json"]):
        assert run_command(["-C", str(tmp_path), "operations", operation, *options]) == 0
        shown = capsys.readouterr().out
        assert all(char.isprintable() or char == "\n" for char in shown)
    assert json.loads(json.loads(shown)["plan"]["changes"][0]["key"])["browser"] == browser
    assert run_command(["-C", str(tmp_path), "undo", "\x1b[2J", "--yes"]) == 2
    assert "\x1b" not in capsys.readouterr().err
