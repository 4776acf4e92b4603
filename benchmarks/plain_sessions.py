"""Seed 003 the plain way: one key for each visit, its state and its timer through a round trip each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.stateful_processor import ExpiredTimerInfo, StatefulProcessor, StatefulProcessorHandle, TimerValues

from benchmarks.case import Place
from benchmarks.plain import read_visits, start

if TYPE_CHECKING:
    import pandas as pd

_RESULT = "visit_id STRING, visited_pages BIGINT, is_finished BOOLEAN"
_TIMEOUT_MS = 10 * 60 * 1000


def sessions(place: Place, max_offsets: int) -> StreamingQuery:
    schema = "event_id STRING, visit_id STRING, event_time TIMESTAMP"
    visits = read_visits(place, "visits_sessions_in", max_offsets, schema).withWatermark("event_time", "15 minutes")
    results = visits.groupBy("visit_id").transformWithStateInPandas(
        statefulProcessor=_Visit(), outputStructType=_RESULT, outputMode="Update", timeMode="EventTime"
    )
    return start(place, f"sessions-{max_offsets}", results.writeStream.outputMode("update").format("console"))


class _Visit(StatefulProcessor):
    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._pages = handle.getValueState("pages", "visited_pages BIGINT")

    def handleInputRows(self, key: tuple[str], rows: Iterator[Any], timerValues: TimerValues) -> Iterator[pd.DataFrame]:
        before, latest_ms = self._pages.get(), 0
        pages = before[0] if before else 0
        for frame in rows:
            pages += len(frame)
            latest_ms = max(latest_ms, int(frame["event_time"].max().timestamp() * 1000))
        self._pages.update((pages,))
        for timer_ms in self._handle.listTimers():
            self._handle.deleteTimer(timer_ms)
        self._handle.registerTimer((timerValues.getCurrentWatermarkInMs() or latest_ms) + _TIMEOUT_MS)
        yield _result(key, pages, False)

    def handleExpiredTimer(
        self,
        key: tuple[str],
        timerValues: TimerValues,  # noqa: ARG002
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: ARG002
    ) -> Iterator[pd.DataFrame]:
        before = self._pages.get()
        self._pages.clear()
        yield _result(key, before[0] if before else 0, True)

    def close(self) -> None:
        pass


def _result(key: tuple[str], pages: int, is_finished: bool) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame({"visit_id": [key[0]], "visited_pages": [pages], "is_finished": [is_finished]})
