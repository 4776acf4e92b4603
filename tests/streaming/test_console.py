"""The console's tables are Spark's own to the letter, but no value commands the terminal."""

from __future__ import annotations

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from anabranch.streaming.sinks.console import console_tables

pytestmark = pytest.mark.spark


def columns() -> dict[str, Column]:
    """Every kind of value, and of null."""
    return {
        "id": F.col("id"),
        "nothing": F.lit(None).cast("string"),
        "a long name with\na break": F.lit(""),
        "window": F.window(F.timestamp_seconds(F.lit(1_757_000_000)), "10 minutes"),
        "struct": F.struct(F.lit("tab\there"), F.lit(None), F.lit(b"\x00\xff")),
        "bytes": F.lit(b"AB\xff"),
        "array": F.array(F.lit(1.5), F.lit(None)),
        "map": F.create_map(F.lit("key"), F.lit(b"value")),
        "wide": F.lit("日本語 ｱ 😀 é"),
        "breaks": F.lit("a\nb\rc\fd\be\vf\ag"),
    }


def drawn(*batches: DataFrame) -> list[str]:
    """The table of each batch of one query."""
    printed: list[str] = []
    write = console_tables(printed.append)
    for number, batch in enumerate(batches):
        write(batch, number)
        head = f"-------------------------------------------\nBatch: {number}\n-------------------------------------------\n"
        assert printed[-1].startswith(head)
    return [text.split("\n", 3)[3] for text in printed]


def test_a_table_is_the_one_that_spark_draws(spark: SparkSession) -> None:
    spark = spark.newSession()
    spark.conf.set("spark.sql.session.timeZone", "Europe/Paris")
    kinds = [column.alias(name) for name, column in columns().items()]
    batches = [spark.range(rows).select(*kinds) for rows in (0, 1, 25)]
    assert drawn(*batches) == [batch._jdf.showString(25, 0, False) + "\n" for batch in batches]


def test_a_value_does_not_command_the_terminal(spark: SparkSession) -> None:
    (table,) = drawn(spark.range(1).select(F.lit("\x1b[31mred\x1b]0;title\x07 \u202eback \x9b").alias("browser")))
    assert r"|\x1b[31mred\x1b]0;title\a \u202eback \x9b|" in table
    assert all(line.isprintable() for line in table.splitlines())
