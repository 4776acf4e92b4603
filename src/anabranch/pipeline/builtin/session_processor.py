"""Spark's state processor around the fold of session_fold.py. It keeps state and timers; it decides nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from anabranch.pipeline.builtin import session_fold

if TYPE_CHECKING:
    import pandas as pd

RESULT = "visit_id STRING, visited_pages BIGINT, is_finished BOOLEAN"


def count_pages(visits: DataFrame) -> DataFrame:
    bucket = F.pmod(F.xxhash64("visit_id"), F.lit(session_fold.BUCKETS)).cast("int")
    return (
        # event_time stays for Spark, which drops late rows by it; the number is the same in every zone, pandas' times are not.
        visits.select(bucket.alias("bucket"), "visit_id", "event_time", F.unix_millis("event_time").alias("event_ms"))
        .groupBy("bucket")
        .transformWithStateInPandas(
            statefulProcessor=_Visits(), outputStructType=RESULT, outputMode="Update", timeMode="EventTime"
        )
    )


class _Visits(StatefulProcessor):
    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._bucket = handle.getValueState("visits", "visits STRING")

    def handleInputRows(
        self,
        key: tuple[int],  # noqa: ARG002
        rows: Iterator[Any],  # of pandas frames
        timerValues: TimerValues,
    ) -> Iterator[pd.DataFrame]:
        before = self._read()
        after, results = session_fold.update(before, _pages(rows), timerValues.getCurrentWatermarkInMs())
        self._write(before, after)
        yield _frame(results)

    def handleExpiredTimer(
        self,
        key: tuple[int],  # noqa: ARG002
        timerValues: TimerValues,
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: ARG002
    ) -> Iterator[pd.DataFrame]:
        after, results = session_fold.expire(self._read(), timerValues.getCurrentWatermarkInMs())
        self._write({}, after)  # the timer that fired is gone already
        yield _frame(results)

    def close(self) -> None:
        pass

    def _read(self) -> session_fold.Bucket:
        kept = self._bucket.get() if self._bucket.exists() else None
        return session_fold.from_text(kept[0] if kept else None)

    def _write(self, before: session_fold.Bucket, after: session_fold.Bucket) -> None:
        if after:
            self._bucket.update((session_fold.to_text(after),))
        else:
            self._bucket.clear()
        old, new = session_fold.next_timer_ms(before), session_fold.next_timer_ms(after)
        if old != new:
            if old is not None:
                self._handle.deleteTimer(old)
            if new is not None:
                self._handle.registerTimer(new)


def _pages(frames: Iterator[Any]) -> dict[str | None, session_fold.Pages]:
    """What the batch holds of each visit."""
    found: dict[str | None, session_fold.Pages] = {}
    for frame in frames:
        # A loop: pandas' own grouping takes as long for thousands of rows, and four times as long for hundreds.
        for visit_id, event_ms in zip(frame["visit_id"].tolist(), frame["event_ms"].tolist(), strict=True):
            name = visit_id if isinstance(visit_id, str) else None
            count, latest_ms = found.get(name, (0, event_ms))
            found[name] = session_fold.Pages(count + 1, max(latest_ms, event_ms))
    return found


def _frame(results: list[session_fold.VisitResult]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(
        {
            "visit_id": [result.visit_id for result in results],
            "visited_pages": [result.visited_pages for result in results],
            "is_finished": [result.is_finished for result in results],
        }
    )
