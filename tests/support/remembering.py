"""A transformWithState in pandas that counts rows by key: in a file of its own, since Python workers must find it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle


class Remember(StatefulProcessor):
    def init(self, handle: StatefulProcessorHandle) -> None:
        self._count = handle.getValueState("count", "n INT")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: ARG002
        before = self._count.get()
        count = (before[0] if before is not None else 0) + sum(len(frame) for frame in rows)
        self._count.update((count,))
        yield pd.DataFrame({"k": [key[0]], "n": [count]})

    def close(self) -> None: ...
