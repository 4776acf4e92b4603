"""The gate in front of a sink: how a query is stopped between two batches.

`StreamingQuery.stop()` abandons the batch under way, which would then print again after the restart. So a stop closes the
gate: the batch in the sink continues to its commit, and no later one enters. A batch that finds the gate closed has written
nothing yet; it ends its query, and runs whole at the next start.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class GateClosedError(Exception):
    """Ends a query at a closed gate."""


class BatchGate:
    def __init__(self) -> None:
        self._lock = Lock()
        self._closed = False
        self._entered: int | None = None

    def guard(self, write: Callable[[DataFrame, int], None]) -> Callable[[DataFrame, int], None]:
        def guarded(batch: DataFrame, batch_id: int) -> None:
            with self._lock:
                if self._closed:
                    raise GateClosedError
                self._entered = batch_id
            write(batch, batch_id)

        return guarded

    def close(self) -> None:
        with self._lock:
            self._closed = True

    @property
    def is_closed(self) -> bool:
        return self._closed

    def is_quiet(self, committed: int | None) -> bool:
        """Whether every batch that came in has been committed: from then on, stopping abandons nothing that was written."""
        with self._lock:
            return self._entered is None or (committed is not None and committed >= self._entered)
