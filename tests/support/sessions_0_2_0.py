"""visits-sessions as 0.2.0 kept its state: of each bucket one JSON text, and one timer. It makes checkpoints of that time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import ExpiredTimerInfo, StatefulProcessor, StatefulProcessorHandle, TimerValues

if TYPE_CHECKING:
    import pandas as pd

_TIMEOUT_MS = 10 * 60 * 1000
# Visit, as JSON -> pages, timer.
_Bucket = dict[str, list[int]]


def count_pages(visits: DataFrame) -> DataFrame:
    bucket = F.pmod(F.xxhash64("visit_id"), F.lit(16)).cast("int").alias("bucket")
    rows = visits.select(bucket, "visit_id", "event_time", F.unix_millis("event_time").alias("event_ms"))
    result = "visit_id STRING, visited_pages BIGINT, is_finished BOOLEAN"
    return rows.groupBy("bucket").transformWithStateInPandas(_Visits(), result, "Update", "EventTime")


class _Visits(StatefulProcessor):
    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._bucket = handle.getValueState("visits", "visits STRING")

    def handleInputRows(
        self,
        key: Any,  # noqa: ARG002
        rows: Iterator[Any],
        timerValues: TimerValues,
    ) -> Iterator[pd.DataFrame]:
        bucket, touched, watermark_ms = self._read(), dict[str, None](), timerValues.getCurrentWatermarkInMs()
        before = _timer(bucket)
        for frame in rows:
            for visit_id, event_ms in zip(frame["visit_id"], frame["event_ms"], strict=True):
                name = json.dumps(visit_id)
                pages, timer_ms = bucket.get(name, [0, 0])
                timer_ms = watermark_ms + _TIMEOUT_MS if watermark_ms > 0 else max(timer_ms, int(event_ms) + _TIMEOUT_MS)
                bucket[name] = [pages + 1, timer_ms]
                touched[name] = None
        self._write(bucket, before)
        yield _frame({name: bucket[name] for name in touched}, False)

    def handleExpiredTimer(
        self,
        key: Any,  # noqa: ARG002
        timerValues: TimerValues,
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: ARG002
    ) -> Iterator[pd.DataFrame]:
        bucket, watermark_ms = self._read(), timerValues.getCurrentWatermarkInMs()
        over = {name: visit for name, visit in bucket.items() if visit[1] <= watermark_ms}
        self._write({name: visit for name, visit in bucket.items() if name not in over}, None)
        yield _frame(over, True)

    def close(self) -> None:
        pass

    def _read(self) -> _Bucket:
        kept = self._bucket.get()
        return json.loads(kept[0]) if kept else {}

    def _write(self, bucket: _Bucket, before_ms: int | None) -> None:
        if bucket:
            self._bucket.update((json.dumps(bucket),))
        else:
            self._bucket.clear()
        if (after_ms := _timer(bucket)) != before_ms:
            if before_ms is not None:
                self._handle.deleteTimer(before_ms)
            if after_ms is not None:
                self._handle.registerTimer(after_ms)


def _timer(bucket: _Bucket) -> int | None:
    return min((timer_ms for _, timer_ms in bucket.values()), default=None)


def _frame(visits: _Bucket, is_finished: bool) -> pd.DataFrame:
    import pandas as pd

    names, pages = [json.loads(name) for name in visits], [visit[0] for visit in visits.values()]
    return pd.DataFrame({"visit_id": names, "visited_pages": pages, "is_finished": [is_finished] * len(names)})
