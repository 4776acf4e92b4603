"""Whether a plan is stale: what its results depend on has changed, and nothing else counts. Pure."""

from __future__ import annotations

from dataclasses import replace

import pytest

from anabranch.errors import Reason, Refused
from anabranch.reprocess.plan import Range, ReprocessPlan, check_not_stale
from anabranch.reprocess.staleness import InputSnapshot, LaterResult
from tests.support.plans import reprocess_plan

SEVEN, HALF_PAST = '{"window_start":"07:00"}', '{"window_start":"07:30"}'
SEEN = InputSnapshot(
    source_topic_id="source",
    result_topic_id="results",
    results={0: (0, 7), 1: (2, 3)},
    stream_id="stream",
    lake_id="lake",
    records={0: (5, 11), 1: (2, 4)},
)
RANGE = Range(0, 600_000)
PLAN = reprocess_plan([(SEVEN, "3", "5")], operation="mine", range=RANGE, inputs=SEEN)


@pytest.mark.parametrize(
    ("now", "later"),
    [
        (SEEN, []),
        # The stream continues: other windows, and more offsets on the topic.
        (replace(SEEN, results={0: (0, 9), 1: (2, 3)}), [LaterResult(HALF_PAST, "stream", None)]),
        # Retention took results that the plan has seen.
        (replace(SEEN, results={0: (7, 7), 1: (3, 3)}), []),
        # Its own results, sent before it was interrupted.
        (replace(SEEN, results={0: (0, 8), 1: (2, 3)}), [LaterResult(SEVEN, "reprocess", "mine")]),
    ],
)
def test_a_plan_is_not_stale_by_what_it_does_not_depend_on(now: InputSnapshot, later: list[LaterResult]) -> None:
    check_not_stale(PLAN, now, later, {SEVEN})


@pytest.mark.parametrize(
    ("now", "later", "code", "params"),
    [
        (SEEN, [LaterResult(SEVEN, "stream", None)], "newer-result", {"key": SEVEN, "origin": "stream"}),
        (SEEN, [LaterResult(SEVEN, "reprocess", "other")], "newer-result", {"key": SEVEN, "origin": "other"}),
        # Someone corrected what was sent before the interruption: sending the rest would be half of one, half of the other.
        (
            SEEN,
            [LaterResult(SEVEN, "reprocess", "mine"), LaterResult(SEVEN, "elsewhere", None)],
            "newer-result",
            {"key": SEVEN, "origin": "elsewhere"},
        ),
        (replace(SEEN, source_topic_id="x"), [], "source-topic-recreated", {}),
        (replace(SEEN, result_topic_id="x"), [], "result-topic-recreated", {}),
        (replace(SEEN, results={0: (0, 7)}), [], "result-partitions-changed", {"now": 1, "before": 2}),
        (replace(SEEN, results={0: (9, 9), 1: (2, 3)}), [], "results-expired", {"first": 7, "last": 8, "partition": 0}),
        (replace(SEEN, stream_id="x"), [], "stream-replaced", {}),
        (replace(SEEN, lake_id="x"), [], "lake-replaced", {}),
        (replace(SEEN, records={0: (6, 12), 1: (2, 4)}), [], "lake-changed", {"now": 8, "before": 7}),
        # As many, but others.
        (replace(SEEN, records={0: (5, 12), 1: (2, 4)}), [], "lake-changed", {"now": 7, "before": 7}),
    ],
)
def test_a_stale_plan_is_refused_with_what_changed(
    now: InputSnapshot, later: list[LaterResult], code: str, params: dict[str, object]
) -> None:
    assert [(one.code, one.params) for one in _why_stale(PLAN, now, later)] == [(code, params)]


def test_all_that_changed_is_told() -> None:
    changed = replace(SEEN, source_topic_id="x", stream_id="x", result_topic_id="x", lake_id="x")
    assert [one.code for one in _why_stale(PLAN, changed, [LaterResult(SEVEN, "stream", None)])] == [
        "source-topic-recreated",
        "stream-replaced",
        "result-topic-recreated",
        "newer-result",
        "lake-replaced",
    ]


def _why_stale(plan: ReprocessPlan, now: InputSnapshot, later: list[LaterResult]) -> list[Reason]:
    with pytest.raises(Refused) as refused:
        check_not_stale(plan, now, later, {change.key for change in plan.changes})
    params = refused.value.reason.params
    assert (refused.value.code, params["operation"]) == ("inputs-stale", "mine")
    # What makes a new plan.
    assert (params["pipeline"], params["start"], params["end"]) == (
        "visits-counter",
        "1970-01-01T00:00:00Z",
        "1970-01-01T00:10:00Z",
    )
    return list(params["why"])


def test_of_many_keys_with_newer_results_a_few_are_named() -> None:
    plan = reprocess_plan([(str(number), None, "1") for number in range(10)], operation="mine", range=RANGE, inputs=SEEN)
    later = [LaterResult(str(number), "stream", None) for number in range(10)]
    *named, rest = _why_stale(plan, SEEN, later)
    assert [(one.code, one.params["key"]) for one in named] == [("newer-result", key) for key in "012"]
    assert (rest.code, rest.params) == ("more-newer-results", {"count": 7})
