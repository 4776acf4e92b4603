"""Builds a pipeline's plans on an empty stream and an empty batch. No data is read, and no Kafka."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from anabranch.check import messages
from anabranch.check.findings import Finding
from anabranch.check.judge import judge
from anabranch.check.lines import place_of
from anabranch.check.plan import PlannedTransform
from anabranch.check.read_plan import ids_of, read_plan, text_of
from anabranch.errors import AnabranchError, Reason
from anabranch.pipeline.definition import Pipeline
from anabranch.pipeline.sinks import Results
from anabranch.pipeline.topic import Place
from anabranch.streaming.blame import is_of_user, kind_and_sentence
from anabranch.streaming.call_sites import call_sites_kept
from anabranch.streaming.decoder.decode import decode
from anabranch.streaming.rehearsal import COLUMNS, Rehearsal
from anabranch.streaming.results import as_records
from anabranch.streaming.transforms import prepared, transformed

# What Spark says where a stream is computed at once.
_ACTIONS = ("_LEGACY_ERROR_TEMP_3102", "CALL_ON_STREAMING_DATASET_UNSUPPORTED", "_LEGACY_ERROR_TEMP_3063")


class Inspection:
    """Of one pipeline; `directory` is for its empty streams."""

    def __init__(self, spark: SparkSession, pipeline: Pipeline, directory: Path, zone: str) -> None:
        self._spark, self._pipeline, self._directory, self._zone = spark, pipeline, directory, zone

    def findings(self) -> Iterator[Finding]:
        streams = [self._empty_stream(number) for number in range(len(self._pipeline.topics))]
        try:
            planned = self._planned(streams)
        except Exception as error:
            yield self._raised(error)
            return
        if isinstance(planned, Reason):
            yield Finding(self._pipeline.name, self._pipeline.place, planned)
            return
        found = [
            Finding(self._pipeline.name, place_of(self._pipeline, one.names), one.reason, one.level)
            for one in judge(self._pipeline, planned)
        ]
        yield from found
        # Spark's own words, only where ours have not said it.
        if all(one.level == "warning" for one in found):
            yield from self._refusals()

    def _planned(self, streams: Sequence[DataFrame]) -> PlannedTransform | Reason:
        frames = prepared(streams, self._pipeline)
        with call_sites_kept():
            result = self._pipeline.loaded.transform(*frames)
            again = self._pipeline.loaded.transform(*frames)
        if not isinstance(result, DataFrame):
            return messages.NOT_A_FRAME(pipeline=self._pipeline.name, type=type(result).__name__)
        windows = {one for frame in frames for one in ids_of(frame, "window")} if self._pipeline.window_s is not None else set()
        topics = zip(frames, self._pipeline.topics, strict=True)
        return PlannedTransform(
            plan=read_plan(result),
            columns=tuple((field.name, field.dataType.simpleString()) for field in result.schema),
            windows=frozenset(windows),
            event_times=frozenset(one for frame, topic in topics for one in ids_of(frame, topic.event_time)),
            is_streaming=result.isStreaming,
            changes=text_of(result) != text_of(again),
        )

    def _empty_stream(self, number: int) -> DataFrame:
        """Decoded already, by its schema: the decoder's own plan would be most of what is read."""
        empty = self._directory / "empty"
        empty.mkdir(exist_ok=True)
        return self._spark.readStream.schema(self._empty_batch(number).schema).json(str(empty))

    def _empty_batch(self, number: int) -> DataFrame:
        pipeline, topic = self._pipeline, self._pipeline.topics[number]
        records = self._spark.createDataFrame([], COLUMNS)
        return decode(records, topic, zone=self._zone, future_tolerance_s=pipeline.future_tolerance_s, skip=pipeline.skip)

    def _refusals(self) -> Iterator[Finding]:
        """The query itself, started on an empty stream: it ends at once. And the batch that would recompute a window."""
        pipeline = self._pipeline
        try:
            Rehearsal(self._spark, pipeline, self._directory / pipeline.name, self._zone).run()
        except AnabranchError as error:
            yield self._refused(messages.SPARK_REFUSES(**{**error.reason.params, "pipeline": pipeline.name}))
            return
        except PySparkException as error:
            kind, sentence = kind_and_sentence(error)
            yield self._refused(messages.SPARK_REFUSES(pipeline=pipeline.name, kind=kind, sentence=sentence))
            return
        if not pipeline.is_recomputable and not pipeline.per_batch:
            return
        failed = messages.BATCH_PLAN_FAILS
        try:
            results = transformed([self._empty_batch(0)], pipeline)
            if isinstance(pipeline.sink, Results):
                failed = messages.RESULT_UNWRITABLE
                as_records(results, pipeline.grouping)
        except PySparkException as error:
            kind, sentence = kind_and_sentence(error)
            yield self._refused(failed(pipeline=pipeline.name, kind=kind, sentence=sentence))

    def _refused(self, reason: Reason) -> Finding:
        return Finding(self._pipeline.name, self._pipeline.place, reason)

    def _raised(self, error: Exception) -> Finding:
        """What the function raised while its plan was built."""
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if self._is_users(frame.filename)]
        place = Place(frames[-1].filename, frames[-1].lineno or 0) if frames else self._pipeline.place
        if isinstance(error, AnalysisException) and error.getCondition() in _ACTIONS:
            what = (frames[-1].line or "an action") if frames else "an action"
            return Finding(self._pipeline.name, place, messages.ACTION_INSIDE(pipeline=self._pipeline.name, what=what))
        kind, sentence = kind_and_sentence(error)
        raised = messages.TRANSFORM_RAISES(pipeline=self._pipeline.name, kind=kind, sentence=sentence)
        return Finding(self._pipeline.name, place, raised)

    def _is_users(self, file: str) -> bool:
        return self._pipeline.place is not None and is_of_user(self._pipeline, file)
