"""The gate in front of a sink: who may enter it, and how a query is stopped between two batches.

`StreamingQuery.stop()` abandons the batch under way, which would then print again after the restart; or one that is planned,
which would stay planned. So a stop first closes the gate behind the next batch that leaves the sink: it continues to its
commit, and no other one is planned after it. Only a query without a batch is stopped by Spark's own call, with the gate shut:
a batch that comes all the same has written nothing, ends its query, and runs whole at the next start.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class GateClosedError(Exception):
    """Ends a query at a gate that is shut."""


class BatchGate:
    """`end_query` lets no batch be planned after the one in the sink. `check` may refuse a batch, by what it raises."""

    def __init__(self, end_query: Callable[[], None] | None = None, check: Callable[[int], None] | None = None) -> None:
        self._end_query, self._check = end_query, check
        self._lock = Lock()
        self._closing = self._shut = False
        self._entered: int | None = None

    def guard(self, write: Callable[[DataFrame, int], None]) -> Callable[[DataFrame, int], None]:
        def guarded(batch: DataFrame, batch_id: int) -> None:
            if self._check is not None:
                self._check(batch_id)
            with self._lock:
                if self._shut:
                    raise GateClosedError
                self._entered = batch_id
            write(batch, batch_id)
            with self._lock:
                if self._closing and self._end_query is not None:
                    self._end_query()

        return guarded

    def close(self) -> None:
        """Behind the batch that is in the sink, or that is planned."""
        with self._lock:
            self._closing = True

    def shut(self) -> None:
        """From now on no batch enters."""
        with self._lock:
            self._closing = self._shut = True

    @property
    def is_closing(self) -> bool:
        return self._closing

    def is_quiet(self, committed: int | None) -> bool:
        """Whether every batch that came in has been committed: once it is shut, stopping abandons nothing that was written."""
        with self._lock:
            return self._entered is None or (committed is not None and committed >= self._entered)
