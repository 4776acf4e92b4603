"""Early results (seed 003): pages so far for each visit, then once more when it is finished."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import anabranch as ab
from anabranch.pipeline.builtin.session_chunks import Bucket, Chunk, from_columns, from_text
from anabranch.pipeline.builtin.visits import VISITS
from anabranch.pipeline.declare import declared_pipeline
from anabranch.text.format import iso_utc

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def unpack_state(entries: Iterable[tuple[Any, Any]]) -> Iterator[dict[str, Any]]:
    """One row for each visit that is open. Of a bucket there are several chunks, or the text of 0.2.0."""
    buckets: dict[int, dict[int, Chunk]] = {}
    for key, value in entries:
        place, chunk = _chunk(value)
        buckets.setdefault(key["bucket"], {})[place] = chunk
    for chunks in buckets.values():
        for visit_id, visit in Bucket.of(chunks[place] for place in sorted(chunks)).visits().items():
            yield {"visit_id": visit_id, "visited_pages": visit.pages, "ends_at": iso_utc(visit.timer_ms)}


def _chunk(value: Any) -> tuple[int, Chunk]:
    if "visits" in value:
        return 0, from_text(value["visits"])
    columns = value["user_map_value"]
    numbers = (b64decode(columns[name]) for name in ("pages", "timers_ms"))
    return value["user_map_key"]["place"], from_columns(columns["visit_ids"], *numbers)


@ab.pipeline(
    VISITS,
    watermark="15m",
    key=("visit_id",),
    mode="update",
    # The seed closes all visits with an event dated far ahead.
    future_tolerance=None,
    unpack_state=unpack_state,
    to=ab.console(),
)
def visits_sessions(visits: DataFrame) -> DataFrame:
    """Pages so far for each visit, and once more when it is finished."""
    from anabranch.pipeline.builtin.session_processor import count_pages

    return count_pages(visits)


VISITS_SESSIONS = declared_pipeline(visits_sessions)
