"""The topics and pipelines of this project. After a change: anabranch check."""

import anabranch as ab
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

orders = ab.topic(
    "orders",
    schema="""
        order_id STRING NOT NULL,
        customer STRING NOT NULL,
        amount DECIMAL(12,2),
        placed_at TIMESTAMP NOT NULL
    """,
    event_time="placed_at",
    # Every raw record, with its offset: what recomputing stands on.
    lake="lake/orders",
)


@ab.pipeline(
    orders,
    window="5m",
    watermark="10m",
    key=("window", "customer"),
    to=ab.results("revenue"),
)
def revenue(orders: DataFrame) -> DataFrame:
    """Revenue by 5-minute window and customer."""
    return orders.groupBy("window", "customer").agg(
        F.sum("amount").alias("revenue"), F.count("*").alias("orders")
    )
