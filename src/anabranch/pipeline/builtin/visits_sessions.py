"""Early results (seed 003): pages so far for each visit, then once more when it is finished."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from anabranch.pipeline.builtin import session_fold
from anabranch.pipeline.definition import Console, Pipeline
from anabranch.text.format import iso_utc

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def transform(visits: DataFrame) -> DataFrame:
    from anabranch.pipeline.builtin.session_processor import count_pages

    return count_pages(visits)


def unpack_state(value: Any) -> Iterator[dict[str, Any]]:
    """One row for each visit of a bucket."""
    for visit_id, visit in session_fold.from_text(value["visits"]).items():
        yield {"visit_id": visit_id, "visited_pages": visit.pages, "ends_at": iso_utc(visit.timer_ms)}


VISITS_SESSIONS = Pipeline(
    name="visits-sessions",
    summary="pages so far for each visit, and once more when it is finished",
    source_topic="visits",
    sink=Console(),
    result_topic="visits_sessions",
    transform=transform,
    output_mode="update",
    watermark_s=900,
    # The seed closes all visits with an event dated far ahead.
    future_tolerance_s=None,
    grouping=("visit_id",),
    unpack_state=unpack_state,
)
