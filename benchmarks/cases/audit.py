"""An audit of a day of 10,000,000 records, beside one plain count of the same table by window."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import monotonic

from pyspark.sql import functions as F

from anabranch.audit.apply import make_audit
from anabranch.audit.look import look_at
from anabranch.audit.scope import Wanted
from anabranch.project.project import with_code
from anabranch.reprocess.apply import BATCH_JOB
from benchmarks.case import Case, Figures, Goal, Place
from benchmarks.stored import StoredDay

RECORDS = 10_000_000
# As in a project of its own.
_STORED = StoredDay("audited", "visits-counter", RECORDS, browsers=8)
_TIMES, _COLD_TIMES = 6, 1


def _figures(place: Place, look: Callable[[], int]) -> Figures:
    durations_s = []
    for number in range(_TIMES):
        started_s = monotonic()
        windows = look()
        durations_s.append(monotonic() - started_s)
        assert windows == 144, f"{windows} windows instead of 144"
        place.say(f"time {number + 1}: {durations_s[-1]:.2f} s")
    return {
        f"{_STORED.records:,} records": 1000 * median(durations_s[_COLD_TIMES:]),
        "the first of a process": 1000 * durations_s[0],
    }


def _ours(place: Place) -> Figures:
    project = with_code(_STORED.project(place))
    pipeline = _STORED.of(project)
    for name, value in BATCH_JOB.items():
        place.spark.conf.set(name, value)

    def audit() -> int:
        found = make_audit(project, look_at(project, pipeline, Wanted()), lambda: place.spark, lambda _: None)
        assert found.verdict.is_clean, found.verdict
        assert found.balance.counted == _STORED.records, found.balance
        return found.verdict.windows

    return _figures(place, audit)


def _plain(place: Place) -> Figures:
    project = _STORED.project(place)
    lake = project.directory / ".anabranch" / "lake" / "visits"

    def count() -> int:
        visits = place.spark.read.format("delta").option("versionAsOf", 0).load(str(lake))
        return len(visits.groupBy(F.window("event_time", "10 minutes")).count().collect())

    return _figures(place, count)


CASE = Case(
    name="audit",
    summary="audit a day of visits-counter; plain: count the lake's records by window",
    unit="ms",
    ours=_ours,
    plain=_plain,
    goals={f"{RECORDS:,} records": Goal(at_most=2.5)},
)
