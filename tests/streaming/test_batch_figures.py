"""What is written down of a batch: exact where it is, "about" where a stage ran twice, unknown where nothing was counted."""

from __future__ import annotations

from typing import Any

import pytest

from anabranch.checkpoint.checkpoint import Checkpoint
from anabranch.checkpoint.figures import jump_of
from anabranch.checkpoint.history import NewestEvent, WatermarkJump
from anabranch.errors import Reason
from anabranch.pipeline.builtin.catalog import VISITS_LAKE
from anabranch.pipeline.builtin.visits_counter import VISITS_COUNTER
from anabranch.streaming.batch_figures import batch_record, watermark_jump
from anabranch.streaming.run_progress import RunProgress
from tests.support.drawing import checkpoint_of

WINDOW_MS = 600_000
BEGIN_MS = 2_928_282 * WINDOW_MS  # 2025-09-04T07:00:00Z
DAY_MS = 86_400_000


def logs(*, watermarks_ms: tuple[int, int], next_ms: int = 0, ends: tuple[int, int] = (10, 30)) -> Checkpoint:
    """Of batches 1 and 2."""
    tree = {"commits/2": f'v1\n{{"nextBatchWatermarkMs":{next_ms}}}'}
    for batch, watermark_ms, end in zip((1, 2), watermarks_ms, ends, strict=True):
        head = f'{{"batchWatermarkMs":{watermark_ms},"batchTimestampMs":{BEGIN_MS},"conf":{{}}}}'
        tree[f"offsets/{batch}"] = f'v1\n{head}\n{{"visits":{{"0":{end}}}}}'
    return checkpoint_of(tree)


def progress(observed: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "batchId": 2,
        "timestamp": "2025-09-04T07:00:00.000Z",
        "batchDuration": 300,
        "processedRowsPerSecond": 66.66,
        "stateOperators": [{"numRowsDroppedByWatermark": 1, "numRowsTotal": 7}],
        "durationMs": {"addBatch": 200, "triggerExecution": 300},
        "observedMetrics": {} if observed is None else {"decoded": observed},
    }


def observed(records: int = 20) -> dict[str, Any]:
    first = BEGIN_MS // WINDOW_MS
    return {
        "records": records,
        "problems": 2,
        "windows": [{"x": float(first), "y": 5.0}, {"x": first + 1.0, "y": 13.0}],
        "newest": {"event_ms": BEGIN_MS + 700_000, "topic": "visits", "partition": 0, "offset": 24},
    }


def test_records_are_late_by_the_watermark_of_the_batch_before() -> None:
    found = batch_record(
        progress(observed()), VISITS_COUNTER, logs(watermarks_ms=(BEGIN_MS + WINDOW_MS, BEGIN_MS + 2 * WINDOW_MS))
    )
    assert (found.records, found.problems, found.late, found.is_exact) == (20, 2, 5, True)
    assert (found.rows_per_s, found.duration_ms, found.watermark) == (66.7, 300, "2025-09-04T07:20:00Z")
    assert (found.ranges, found.planned_at) == ({"visits": {0: (10, 30)}}, "2025-09-04T07:00:00Z")
    assert (found.committed_at, found.state_rows) == ("2025-09-04T07:00:00.300Z", 7)
    assert found.phases_ms == {"addBatch": 200, "triggerExecution": 300}
    assert found.newest_event == NewestEvent("2025-09-04T07:11:40Z", "visits", 0, 24)


def test_more_records_than_the_offsets_span_were_counted_twice() -> None:
    found = batch_record(progress(observed(21)), VISITS_COUNTER, logs(watermarks_ms=(1, 1)))
    assert (found.records, found.is_exact) == (20, False)


def test_in_a_topic_with_holes_only_spark_knows_that_a_stage_ran_twice() -> None:
    drawn = logs(watermarks_ms=(1, 1))
    once = batch_record(progress(observed(15)), VISITS_COUNTER, drawn)
    assert (once.records, once.is_exact) == (15, True)
    again = batch_record(progress(observed(15)), VISITS_COUNTER, drawn, was_retried=True)
    assert (again.records, again.is_exact) == (15, False)


def test_a_batch_that_counted_nothing_is_not_known_unless_it_has_read_nothing() -> None:
    skipped = batch_record(progress(None), VISITS_COUNTER, logs(watermarks_ms=(1, 1)))
    assert (skipped.records, skipped.problems, skipped.late) == (20, None, None)
    empty = batch_record(progress(None), VISITS_COUNTER, logs(watermarks_ms=(1, 1), ends=(30, 30)))
    assert (empty.records, empty.problems, empty.late) == (0, 0, 0)


def test_a_batch_that_a_table_has_skipped_is_not_taken_for_an_empty_one() -> None:
    skipped = batch_record(progress({"records": 0, "problems": 0}), VISITS_LAKE, logs(watermarks_ms=(0, 0)))
    assert (skipped.records, skipped.problems) == (20, None)


def test_a_state_that_is_not_measured_is_not_taken_for_an_empty_one() -> None:
    drawn = logs(watermarks_ms=(1, 1))
    for operators, rows in (([], 0), (None, None), ([{"numRowsDroppedByWatermark": 0, "numRowsTotal": 0}], None)):
        told = {**progress(observed()), "stateOperators": operators}
        assert batch_record(told, VISITS_LAKE, drawn).state_rows == rows


def test_a_batch_whose_logs_are_gone_has_no_ranges_and_no_time() -> None:
    found = batch_record(progress(observed()), VISITS_LAKE, checkpoint_of({}))
    assert (found.ranges, found.planned_at, found.watermark) == (None, None, None)
    assert (found.records, found.committed_at) == (20, "2025-09-04T07:00:00.300Z")


def test_a_pipeline_without_a_watermark_has_no_late_records_and_no_jumps() -> None:
    found = batch_record(progress({"records": 20, "problems": 2}), VISITS_LAKE, logs(watermarks_ms=(0, 0)))
    assert (found.late, found.watermark, found.newest_event) == (None, None, None)
    assert watermark_jump(found, VISITS_LAKE, logs(watermarks_ms=(0, 0))) is None


@pytest.mark.parametrize(
    ("before_ms", "moved_ms", "limit_s", "is_jump"),
    [
        (BEGIN_MS, DAY_MS, None, False),
        (BEGIN_MS, DAY_MS + 1, None, True),
        (BEGIN_MS, 3_600_001, 3600, True),
        (BEGIN_MS, DAY_MS + 1, 10 * 86_400, False),
        (0, BEGIN_MS, None, False),
    ],
)
def test_a_watermark_that_moves_further_than_its_limit_in_one_batch_has_jumped(
    before_ms: int, moved_ms: int, limit_s: float | None, is_jump: bool
) -> None:
    pipeline = VISITS_COUNTER.changed(watermark_jump_s=limit_s)
    drawn = logs(watermarks_ms=(before_ms, before_ms), next_ms=before_ms + moved_ms)
    jump = watermark_jump(batch_record(progress(observed()), pipeline, drawn), pipeline, drawn)
    assert (jump is not None) == is_jump
    assert jump is None or (jump.batch, jump.moved_by and jump.moved_by.record) == (2, "visits:0:24")


def test_the_line_of_a_run_says_what_was_not_counted() -> None:
    running = RunProgress("visits-counter", "running", batch=3, rows=20, rows_per_s=5.0, late=3)
    assert "20 rows (5/s) · 3 late, not counted" in running.describe()
    assert not running.is_alarming
    about = RunProgress("visits-counter", "running", batch=3, rows=20, late=3, late_is_exact=False)
    assert "about 3 late, not counted" in about.describe()
    nothing = RunProgress("visits-counter", "running", batch=3, rows=22, problems=2, late=20)
    assert "NONE IS COUNTED · batch 3" in nothing.describe()
    assert nothing.is_alarming


@pytest.mark.parametrize("moved_by", [NewestEvent("2026-11-17T15:10:00Z", "visits", 0, 24), None])
def test_a_jump_is_named_with_its_size_and_its_record_where_that_is_known(moved_by: NewestEvent | None) -> None:
    jump = WatermarkJump(2, "2025-09-04T08:45:00Z", "2026-11-17T15:00:00Z", moved_by)
    texts: list[Reason] = [jump_of(jump).describe(), jump_of(jump).in_short()]
    for said in texts:
        assert "439d6h15m" in said.text
        assert ("visits:0:24" in said.text) == (moved_by is not None)
    assert texts[1].text in RunProgress("visits-counter", jump=texts[1]).describe()
