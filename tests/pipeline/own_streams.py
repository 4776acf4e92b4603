"""A user's file as tests write it into a project: every kind of pipeline that can be declared. TAG makes its topics unique."""

from __future__ import annotations

from customer_state import count_orders  # type: ignore[import-not-found]  # beside it in the project
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import anabranch as ab

TAG = "TAG"

orders = ab.topic(
    f"orders-{TAG}",
    schema="order_id STRING NOT NULL, customer STRING NOT NULL, amount DECIMAL(12,2), placed_at TIMESTAMP NOT NULL",
    event_time="placed_at",
    lake="lake/orders",
)
payments = ab.topic(f"payments-{TAG}", schema="order_id STRING NOT NULL, paid_at TIMESTAMP NOT NULL", event_time="paid_at")


@ab.pipeline(orders, window="5m", watermark="10m", key=("window", "customer"), to=ab.results(f"revenue-{TAG}"))
def revenue(orders: DataFrame) -> DataFrame:
    """Revenue by 5-minute window and customer."""
    return orders.groupBy("window", "customer").agg(F.sum("amount").alias("revenue"), F.count("*").alias("orders"))


@ab.pipeline(orders, window=("10m", "5m"), watermark="10m", key=("window",), mode="update", to=ab.results(f"sliding-{TAG}"))
def sliding(orders: DataFrame) -> DataFrame:
    """Orders of 10 minutes, every 5 minutes."""
    return orders.groupBy("window").count()


@ab.pipeline(orders, key=("customer",), scope="batch", to=ab.results(f"by-batch-{TAG}"))
def by_batch(orders: DataFrame) -> DataFrame:
    """Orders of each customer within a batch."""
    return orders.groupBy("customer").count()


@ab.pipeline(orders, to=ab.table("out/large", partition_by=("customer",)))
def large_orders(orders: DataFrame) -> DataFrame:
    """Orders above 20."""
    return orders.where("amount > 20").select("order_id", "customer", "amount")


@ab.pipeline(orders, payments, watermark="10m", key=("order_id",), to=ab.results(f"paid-{TAG}"))
def paid_orders(orders: DataFrame, payments: DataFrame) -> DataFrame:
    """Orders with their payment, if it comes within the hour."""
    paid = payments.withColumnRenamed("order_id", "paid_id")
    within = F.expr("order_id = paid_id AND paid_at BETWEEN placed_at AND placed_at + INTERVAL 1 HOUR")
    return orders.join(paid, within).select("order_id", "customer", "amount", "paid_at")


@ab.pipeline(orders, key=("customer",), mode="update", to=ab.results(f"customers-{TAG}"))
def customers(orders: DataFrame) -> DataFrame:
    """All orders of each customer, in a state of its own."""
    return count_orders(orders)  # type: ignore[no-any-return]
