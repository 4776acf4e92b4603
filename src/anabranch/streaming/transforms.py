"""What every pipeline's input goes through before its transformation, the same for stream and batch.

No action, no clock, no session: a batch read knows no watermark, and there `withWatermark` does nothing.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from anabranch.pipeline.definition import Pipeline
from anabranch.streaming.lateness import BINS

# The name under which a batch's progress carries what was counted on the way.
COUNTED = "decoded"


def transformed(records: DataFrame, pipeline: Pipeline) -> DataFrame:
    """The pipeline's results from usable records: watermark, window, transformation."""
    return pipeline.transform(windowed(watermarked(records, pipeline), pipeline))


def count_records(records: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Records, and those with a problem, are counted on the way, so that none vanishes without a trace.

    With a watermark also the latest event and its record, which moves it; and the records of each window, by its number from
    the epoch, which tell what the watermark drops. All in one place: each is a barrier that costs.
    """
    counts = ["count(1) AS records", "count(problem) AS problems"]
    if pipeline.watermark_s is not None:
        latest = "struct(unix_millis(event_time) AS event_ms, topic, partition, offset)"
        counts.append(f"max(CASE WHEN problem IS NULL THEN {latest} END) AS newest")
    if counts_windows(pipeline):
        assert pipeline.window_s is not None
        number = f"unix_millis(event_time) div {_milliseconds(pipeline.window_s)}L"
        counts.append(f"histogram_numeric(CASE WHEN problem IS NULL THEN cast({number} AS DOUBLE) END, {BINS}) AS windows")
    return records.observe(COUNTED, *map(F.expr, counts))


def counts_windows(pipeline: Pipeline) -> bool:
    """Whether results are grouped by window over batches: a watermark then drops records by the end of their window."""
    return pipeline.window_s is not None and pipeline.watermark_s is not None and not pipeline.per_batch


def without_problems(records: DataFrame) -> DataFrame:
    return records.where("problem is null")


def watermarked(records: DataFrame, pipeline: Pipeline) -> DataFrame:
    if pipeline.watermark_s is None:
        return records
    return records.withWatermark("event_time", _interval(pipeline.watermark_s))


def windowed(records: DataFrame, pipeline: Pipeline) -> DataFrame:
    """With the column `window`: grouped by it, Spark closes and evicts as with F.window in the grouping itself."""
    if pipeline.window_s is None:
        return records
    return records.withColumn("window", F.window("event_time", _interval(pipeline.window_s)))


def _interval(duration_s: float) -> str:
    return f"{_milliseconds(duration_s)} milliseconds"


def _milliseconds(duration_s: float) -> int:
    return round(duration_s * 1000)
