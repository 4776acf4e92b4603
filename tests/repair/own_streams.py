"""A user's file as tests write it into a project: its ids are too small for some records. TAG makes its topics unique."""

from __future__ import annotations

from pyspark.sql import DataFrame

import anabranch as ab

TAG = "TAG"

payments = ab.topic(
    f"payments-{TAG}", schema="id INT NOT NULL, paid_at TIMESTAMP NOT NULL", event_time="paid_at", lake="lake/payments"
)


@ab.pipeline(payments, window="10m", watermark="10m", key=("window",), to=ab.results(f"counts-{TAG}"))
def counts(payments: DataFrame) -> DataFrame:
    """Payments of 10 minutes."""
    return payments.groupBy("window").count()


@ab.pipeline(payments, window="10m", watermark="10m", key=("window",), to=ab.table("out/counts"))
def counts_in_a_table(payments: DataFrame) -> DataFrame:
    """Payments of 10 minutes, in a table."""
    return payments.groupBy("window").count()
