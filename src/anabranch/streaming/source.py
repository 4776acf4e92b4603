"""Where records come from: a Kafka topic, as a stream. Columns as Kafka's connector gives them, nothing decoded yet."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

_OPTIONS = {
    # What Kafka no longer has must stop the query, never be skipped (docs/internals/hazards.md, Kafka).
    "failOnDataLoss": "true",
    "includeHeaders": "true",
    # Spark's consumer takes 500 records at a time by default; 5,000 made a large batch a seventh faster.
    "kafka.max.poll.records": "5000",
    # At the end of a topic a consumer's next fetch waits so long for further records, and a batch with it: 500 ms by default.
    "kafka.fetch.max.wait.ms": "20",
    # An idle query dies after 184 s without Kafka by default; so it waits for a day, and resumes where it was.
    # (Rejected credentials fail at once, and are retried only so often: with 1,000 retries it would look like an idle query.)
    "kafka.default.api.timeout.ms": "86400000",
    "fetchOffset.numRetries": "5",
}


def read_stream(spark: SparkSession, kafka: Mapping[str, str], topic: str, *, start: str, max_offsets: int | None) -> DataFrame:
    """`kafka` are properties of Java's client. `start` holds for a first start only; after it the checkpoint knows."""
    options = {**_OPTIONS, **{f"kafka.{name}": value for name, value in kafka.items()}}
    options |= {"subscribe": topic, "startingOffsets": start}
    if max_offsets is not None:
        options["maxOffsetsPerTrigger"] = str(max_offsets)
    return spark.readStream.format("kafka").options(**options).load()
