"""A user's file as tests write it into a project: windows by key, windows that slide, and a key that is computed."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import anabranch as ab

TAG = "TAG"

orders = ab.topic(
    f"orders-{TAG}",
    schema="customer STRING, shop STRING, amount DECIMAL(12,2), placed_at TIMESTAMP NOT NULL",
    event_time="placed_at",
    lake="lake/orders",
)


@ab.pipeline(orders, window="10m", watermark="5m", key=("window", "customer"), to=ab.results(f"revenue-{TAG}"))
def revenue(orders: DataFrame) -> DataFrame:
    """Revenue by 10-minute window and customer."""
    return orders.groupBy("window", "customer").agg(F.sum("amount").alias("revenue"))


@ab.pipeline(orders, window=("10m", "5m"), watermark="5m", key=("window",), mode="update", to=ab.results(f"sliding-{TAG}"))
def sliding(orders: DataFrame) -> DataFrame:
    """Orders of 10 minutes, every 5 minutes."""
    return orders.groupBy("window").count()


@ab.pipeline(orders, window="10m", watermark="5m", key=("window", "place"), to=ab.results(f"places-{TAG}"))
def places(orders: DataFrame) -> DataFrame:
    """By a key that is no field of an order."""
    return orders.groupBy("window", F.upper("shop").alias("place")).count()


@ab.pipeline(orders, window="10m", watermark="5m", key=("window", "shop"), to=ab.results(f"shops-{TAG}"))
def shops(orders: DataFrame) -> DataFrame:
    """By a key that has the name of a field, and other values."""
    return orders.groupBy("window", F.upper("shop").alias("shop")).count()


@ab.pipeline(orders, window="10m", watermark="5m", to=ab.table("out/held"))
def held(orders: DataFrame) -> DataFrame:
    """All orders of a window, in a table."""
    return orders.groupBy("window").agg(F.sum("amount").alias("revenue"))
