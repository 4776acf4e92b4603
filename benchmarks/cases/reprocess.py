"""One window again, out of a lake of 24 hours: only the hours it needs, or the whole table as the seeds' job reads it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from time import monotonic

from deltalake import DeltaTable
from pyspark.sql import functions as F

from anabranch.pipeline.builtin.catalog import VISITS_LAKE
from anabranch.pipeline.builtin.visits_counter import VISITS_COUNTER
from anabranch.reprocess.plan import Range
from anabranch.reprocess.recompute import LakeRead, recomputed, usable_records
from benchmarks.case import Case, Figures, Goal, Place
from benchmarks.streams import full_batches, start_ours

# 12 hours after the first visit.
_START_S = int(datetime(2025, 9, 4, 19, tzinfo=UTC).timestamp())
_END_S = _START_S + 600
# At the tenth Java still compiles what a reading does besides the scan.
_TIMES = 40
_COLD_TIMES = 30


def _lake(place: Place) -> Path:
    """Made by the first run that needs it."""
    lake = place.shared / "lake"
    if not lake.exists():
        place.say("making a lake of 24 hours")
        pipeline = VISITS_LAKE.changed(sink=VISITS_LAKE.table(str(lake)), max_offsets=100_000)
        full_batches(place, start_ours(place, pipeline), 100_000)
    return lake


def _figures(place: Place, count: Callable[[], int]) -> Figures:
    durations_s = []
    for number in range(_TIMES):
        started_s = monotonic()
        results = count()
        durations_s.append(monotonic() - started_s)
        assert results == 1, f"{results} windows instead of one"
        place.say(f"time {number + 1}: {durations_s[-1]:.2f} s")
    return {"one window of 24 hours": 1000 * median(durations_s[_COLD_TIMES:])}


def _ours(place: Place) -> Figures:
    lake = _lake(place)
    version = DeltaTable(str(lake)).version()
    wanted = Range(_START_S * 1000, _END_S * 1000)

    def results() -> int:
        records = usable_records(place.spark, VISITS_COUNTER, [wanted], LakeRead(str(lake), version, "UTC"))
        return len(recomputed(records, VISITS_COUNTER, [wanted]).collect())

    return _figures(place, results)


def _plain(place: Place) -> Figures:
    lake = _lake(place)
    event = F.from_json(F.col("value").cast("string"), "event_id STRING, visit_id STRING, event_time TIMESTAMP")

    def count() -> int:
        visits = place.spark.read.format("delta").load(str(lake)).select(event.alias("event")).select("event.*")
        start, end = (F.timestamp_seconds(F.lit(moment_s)) for moment_s in (_START_S, _END_S))
        inside = visits.where((F.col("event_time") >= start) & (F.col("event_time") < end))
        return len(inside.groupBy(F.window("event_time", "10 minutes")).count().collect())

    return _figures(place, count)


CASE = Case(
    name="reprocess",
    summary="reprocess one window of visits-counter; plain: a scan of the whole table",
    unit="ms",
    ours=_ours,
    plain=_plain,
    goals={"one window of 24 hours": Goal(at_most=0.3)},
)
