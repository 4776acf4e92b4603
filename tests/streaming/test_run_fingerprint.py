"""What results follow from besides their records, as a fingerprint: equal where nothing of it changed, and only there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import anabranch
from anabranch.checkpoint.baseline_file import shared_code
from anabranch.pipeline.builtin.catalog import BUILTIN, VISITS_LAKE
from anabranch.pipeline.builtin.visits_counter import VISITS_COUNTER
from anabranch.pipeline.definition import Pipeline
from anabranch.pipeline.topic import Place
from anabranch.streaming.preflight import run_fingerprint

USED = run_fingerprint(VISITS_COUNTER, "UTC")


def test_every_pipeline_has_one_of_its_own() -> None:
    found = {run_fingerprint(pipeline, "UTC") for pipeline in BUILTIN.pipelines}
    assert len(found) == len(BUILTIN.pipelines)
    assert all(len(one) == 16 for one in found)


@pytest.mark.parametrize(
    "changed",
    [
        VISITS_COUNTER.changed(future_tolerance_s=60.0),
        replace(VISITS_COUNTER, future_tolerance_s=None),
        VISITS_COUNTER.changed(skip=("visits:0:24",)),
        VISITS_COUNTER.changed(window_s=60.0),
        VISITS_COUNTER.changed(source_hash="0" * 64),
        VISITS_COUNTER.reading("other"),
        replace(VISITS_COUNTER, topics=(replace(VISITS_COUNTER.topic, aliases=()),)),
    ],
)
def test_what_changes_results_changes_it(changed: Pipeline) -> None:
    assert run_fingerprint(changed, "UTC") != USED


def test_the_zone_of_times_without_one_changes_it() -> None:
    assert run_fingerprint(VISITS_COUNTER, "Europe/Paris") != USED


@pytest.mark.parametrize(
    "changed",
    [
        VISITS_COUNTER.changed(trigger_s=1.0, max_offsets=7),
        VISITS_COUNTER.changed(sink=VISITS_LAKE.sink),
        VISITS_COUNTER.changed(watermark_jump_s=60.0),
        # Its file, and that of its topic, may be anywhere.
        replace(VISITS_COUNTER, topics=(replace(VISITS_COUNTER.topic, place=Place("elsewhere.py", 3), lake="elsewhere"),)),
    ],
)
def test_what_leaves_results_as_they_are_leaves_it(changed: Pipeline) -> None:
    assert run_fingerprint(changed, "UTC") == USED


def test_a_duration_is_the_same_whether_or_not_it_is_written_with_a_point() -> None:
    one, other = (VISITS_COUNTER.changed(watermark_s=seconds, future_tolerance_s=seconds) for seconds in (600, 600.0))
    assert run_fingerprint(one, "UTC") == run_fingerprint(other, "UTC")


def test_the_order_of_skipped_records_does_not_matter() -> None:
    one, other = (VISITS_COUNTER.changed(skip=skip) for skip in (("a:0:1", "a:0:2"), ("a:0:2", "a:0:1")))
    assert run_fingerprint(one, "UTC") == run_fingerprint(other, "UTC")


def test_the_code_of_the_decoder_is_in_it_in_whatever_language() -> None:
    decoder = Path(anabranch.__file__).parent / "streaming" / "decoder"
    written = {path for path in decoder.iterdir() if path.suffix in (".py", ".scala")}
    assert {path.suffix for path in written} == {".py", ".scala"}
    assert written <= set(shared_code())
