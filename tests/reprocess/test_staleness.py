"""Whether the ground moved under a plan: what its results depend on, and nothing else. Pure."""

from __future__ import annotations

from dataclasses import replace

import pytest

from anabranch.errors import Refused
from anabranch.reprocess.plan import Change, Range, ReprocessPlan, check_not_stale
from anabranch.reprocess.staleness import InputSnapshot, LaterResult

SEVEN, HALF_PAST = '{"window_start":"07:00"}', '{"window_start":"07:30"}'
SEEN = InputSnapshot(
    source_topic_id="source",
    result_topic_id="results",
    results={0: (0, 7), 1: (2, 3)},
    stream_id="stream",
    lake_id="lake",
    visits={0: (5, 11), 1: (2, 4)},
)
RANGE = Range(0, 600_000)
PLAN = ReprocessPlan(
    "mine", "visits-counter", "visits_counter", RANGE, RANGE, 1, "lake", 4, 2, 11, (Change(SEVEN, "3", "5"),), SEEN
)


@pytest.mark.parametrize(
    ("now", "later"),
    [
        (SEEN, []),
        # The stream goes on: other windows, and more offsets on the topic.
        (replace(SEEN, results={0: (0, 9), 1: (2, 3)}), [LaterResult(HALF_PAST, "stream", None)]),
        # Retention took results that the plan has seen.
        (replace(SEEN, results={0: (7, 7), 1: (3, 3)}), []),
        # Its own results, sent before it was cut.
        (replace(SEEN, results={0: (0, 8), 1: (2, 3)}), [LaterResult(SEVEN, "reprocess", "mine")]),
    ],
)
def test_what_has_nothing_to_do_with_the_plan_moves_nothing(now: InputSnapshot, later: list[LaterResult]) -> None:
    check_not_stale(PLAN, now, later)


@pytest.mark.parametrize(
    ("now", "later", "fact"),
    [
        (SEEN, [LaterResult(SEVEN, "stream", None)], f"{SEVEN} has a newer result, from stream"),
        (SEEN, [LaterResult(SEVEN, "reprocess", "other")], f"{SEVEN} has a newer result, from other"),
        # Somebody corrected what was sent before the cut: sending the rest would be half of one, half of the other.
        (SEEN, [LaterResult(SEVEN, "reprocess", "mine"), LaterResult(SEVEN, "elsewhere", None)], "from elsewhere"),
        (replace(SEEN, source_topic_id="x"), [], "the source topic was deleted and made again"),
        (replace(SEEN, result_topic_id="x"), [], "the topic of the results was deleted and made again"),
        (replace(SEEN, results={0: (0, 7)}), [], "the topic of the results has 1 partitions, and had 2"),
        (replace(SEEN, results={0: (9, 9), 1: (2, 3)}), [], "results 7 to 8 of partition 0 are gone"),
        (replace(SEEN, stream_id="x"), [], "the stream runs on another checkpoint"),
        (replace(SEEN, lake_id="x"), [], "the lake is another table"),
        (replace(SEEN, visits={0: (6, 12), 1: (2, 4)}), [], "the lake has 8 visits of these windows, and had 7"),
    ],
)
def test_a_plan_whose_ground_has_moved_is_refused_with_what_moved(
    now: InputSnapshot, later: list[LaterResult], fact: str
) -> None:
    with pytest.raises(Refused) as refused:
        check_not_stale(PLAN, now, later)
    assert "nothing is sent" in refused.value.fact
    assert fact in refused.value.fact
    assert "--from 1970-01-01T00:00:00Z --to 1970-01-01T00:10:00Z   makes a new plan" in str(refused.value)


def test_of_many_keys_with_newer_results_a_few_are_named() -> None:
    changes = tuple(Change(str(number), None, "1") for number in range(10))
    later = [LaterResult(str(number), "stream", None) for number in range(10)]
    with pytest.raises(Refused, match="2 has a newer result, from stream; so have 7 more keys"):
        check_not_stale(replace(PLAN, changes=changes), SEEN, later)
