"""What a run waits for: a batch that ended, a query that ended, a request to stop."""

from __future__ import annotations

import json
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)


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
    """Passes Spark's events to the run's own queue; they come on a thread of Spark's."""

    def __init__(self, events: SimpleQueue[Event]) -> None:
        self._events = events

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        pass

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        self._events.put(Progressed(str(event.progress.id), json.loads(event.progress.json)))

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        pass

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        self._events.put(Ended(str(event.runId), event.exception))
