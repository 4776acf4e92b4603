"""What every pipeline's input goes through before its transformation, the same for stream and batch.

No action, no clock, no session: a batch read knows no watermark, and there `withWatermark` does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from anabranch.pipeline.definition import Pipeline
from anabranch.pipeline.schema import quoted
from anabranch.pipeline.windows import windows_of
from anabranch.streaming.call_sites import call_sites_kept
from anabranch.streaming.lateness import BINS

# The name under which a batch's progress carries what was counted on the way.
COUNTED = "decoded"


def transformed(
    inputs: Sequence[DataFrame], pipeline: Pipeline, keep: Callable[[DataFrame], DataFrame] = lambda records: records
) -> DataFrame:
    """The pipeline's results from the usable records of each of its topics: watermark, window, transformation.

    `keep` leaves out records of windows that are known already.
    """
    frames = [keep(records) for records in prepared(inputs, pipeline)]
    with call_sites_kept():
        return pipeline.loaded.transform(*frames)


def prepared(inputs: Sequence[DataFrame], pipeline: Pipeline) -> list[DataFrame]:
    """What the transformation gets: with the watermark applied, and with the window where one is declared."""
    return [_prepared(records, pipeline, number) for number, records in enumerate(inputs)]


def counted_as(number: int) -> str:
    """Of the topic with this number."""
    return f"{COUNTED}-{number}" if number else COUNTED


def count_records(records: DataFrame, pipeline: Pipeline, number: int = 0) -> DataFrame:
    """Records, and those with a problem, are counted on the way, so that none vanishes without a trace.

    With a watermark also the latest event and its record, which moves it; and the records of each window, by its number from
    the epoch, which tell what the watermark drops. All in one place: each is a barrier that costs.
    """
    event_time = quoted(pipeline.topics[number].event_time)
    counts = ["count(1) AS records", "count(_problem) AS problems"]
    if pipeline.watermark_s is not None:
        latest = f"struct(unix_millis({event_time}) AS event_ms, _topic AS topic, _partition AS partition, _offset AS offset)"
        counts.append(f"max(CASE WHEN _problem IS NULL THEN {latest} END) AS newest")
    if counts_windows(pipeline):
        bin_number = f"unix_millis({event_time}) div {windows_of(pipeline).bin_ms}L"
        counts.append(f"histogram_numeric(CASE WHEN _problem IS NULL THEN cast({bin_number} AS DOUBLE) END, {BINS}) AS windows")
    return records.observe(counted_as(number), *map(F.expr, counts))


def counts_windows(pipeline: Pipeline) -> bool:
    """Whether results are grouped by window over batches: a watermark then drops records by the end of their window."""
    is_one_stream = len(pipeline.topics) == 1 and not pipeline.per_batch
    return pipeline.window_s is not None and pipeline.watermark_s is not None and is_one_stream


def without_problems(records: DataFrame) -> DataFrame:
    return records.where("_problem IS NULL")


def _prepared(records: DataFrame, pipeline: Pipeline, number: int) -> DataFrame:
    event_time = quoted(pipeline.topics[number].event_time)
    if pipeline.watermark_s is not None:
        records = records.withWatermark(event_time, _interval(pipeline.watermark_s))
    if pipeline.window_s is None:
        return records
    # Grouped by this column, Spark closes and evicts as with F.window in the grouping itself.
    slide_s = pipeline.slide_s or pipeline.window_s
    return records.withColumn("window", F.window(event_time, _interval(pipeline.window_s), _interval(slide_s)))


def _interval(duration_s: float) -> str:
    return f"{round(duration_s * 1000)} milliseconds"
