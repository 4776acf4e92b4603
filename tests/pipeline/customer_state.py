"""State of a user's own, in a module beside their pipelines: workers get it by value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle, TimerValues


class CountOrders(StatefulProcessor):
    def init(self, handle: StatefulProcessorHandle) -> None:
        self._count = handle.getValueState("orders", "orders BIGINT")

    def handleInputRows(
        self,
        key: tuple[str],
        rows: Iterator[Any],
        timerValues: TimerValues,  # noqa: ARG002
    ) -> Iterator[pd.DataFrame]:
        before = self._count.get()
        count = (before[0] if before else 0) + sum(len(frame) for frame in rows)
        self._count.update((count,))
        yield pd.DataFrame({"customer": [key[0]], "orders": [count]})

    def close(self) -> None:
        pass


def count_orders(orders: DataFrame) -> DataFrame:
    return orders.groupBy("customer").transformWithStateInPandas(
        CountOrders(), "customer STRING, orders BIGINT", outputMode="Update", timeMode="None"
    )
