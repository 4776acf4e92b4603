"""What a run waits for: a batch that ended, a query that ended, a request to stop."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from pyspark import SparkContext
from pyspark.sql.streaming.listener import StreamingQueryListener
from pyspark.sql.streaming.query import StreamingQuery

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject


@dataclass(frozen=True)
class Progressed:
    query_id: str
    progress: dict[str, Any]


@dataclass(frozen=True)
class Ended:
    run_id: str
    error: str | None


class StopAll:
    """Ctrl-C was pressed, or the process was asked to end."""


Event = Progressed | Ended | StopAll


class EventListener(StreamingQueryListener):
    """Passes Spark's events to the run's own queue; they come on a thread of Spark's.

    PySpark's own listener builds a Python object of every event by some hundred calls to the JVM, 0.4 s of CPU a batch. Here
    an event stays in the JVM, and its JSON is one call.
    """

    def __init__(self, events: SimpleQueue[Event]) -> None:
        self._events = events

    @cached_property
    def _jlistener(self) -> JavaObject:
        jvm: Any = SparkContext._jvm
        wrapper: JavaObject = jvm.PythonStreamingQueryListenerWrapper(self)
        return wrapper

    def onQueryStarted(self, event: Any) -> None:
        pass

    def onQueryProgress(self, event: Any) -> None:
        progress = json.loads(event.progress().json())
        self._events.put(Progressed(progress["id"], progress))

    def onQueryIdle(self, event: Any) -> None:
        pass

    def onQueryTerminated(self, event: Any) -> None:
        error = event.exception()
        self._events.put(Ended(event.runId().toString(), error.get() if error.isDefined() else None))

    class Java:
        implements = ("org.apache.spark.sql.streaming.PythonStreamingQueryListener",)


def recent_progress(query: StreamingQuery) -> list[dict[str, Any]]:
    """Of the last hundred batches: Spark keeps no more."""
    return [json.loads(one.json()) for one in query._jsq.recentProgress()]
