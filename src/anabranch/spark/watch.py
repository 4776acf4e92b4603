"""How far Spark has come with a job, told while the job's caller waits for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EVERY_S = 0.5


@contextmanager
def tasks_told(spark: SparkSession, tell: Callable[[str], None]) -> Iterator[None]:
    """While the block runs, tells how many tasks of the stages under way are done."""
    from py4j.protocol import Py4JError

    tracker, ended = spark.sparkContext.statusTracker(), Event()

    def watch() -> None:
        # What ends the JVM is said by the caller of the job.
        with suppress(Py4JError, OSError):
            while not ended.wait(_EVERY_S):
                stages = [stage for id in tracker.getActiveStageIds() if (stage := tracker.getStageInfo(id)) is not None]
                if total := sum(stage.numTasks for stage in stages):
                    tell(f"{sum(stage.numCompletedTasks for stage in stages)} of {total} tasks")

    watcher = Thread(target=watch, name="anabranch-tasks", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
