"""A pipeline under test: what goes in, what comes out, what was late and what had a problem."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import TYPE_CHECKING, Any

from anabranch.pipeline.declare import declared_pipeline
from anabranch.pipeline.definition import Pipeline
from anabranch.testing import messages
from anabranch.testing.event_time import event_time_of
from anabranch.text.json_text import json_text

if TYPE_CHECKING:
    from anabranch.streaming.rehearsal import RawRecord, Rehearsal, RehearsedBatch

# A JSON object; or what a producer sent, as it came, for records that the decoder rejects. None: a record without a value.
Value = Mapping[str, Any] | str | bytes | None
# Of the time of records that say none.
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Record:
    """A record with more than its value."""

    value: Value
    key: bytes | None = None
    headers: Mapping[str, bytes] | None = None
    # Kafka's own. None: the time of its event; a record without one has that of the record before it.
    timestamp: datetime | None = None


@dataclass(frozen=True)
class Problem:
    """A record that the decoder rejected, and why."""

    problem: str
    value: bytes | None
    topic: str
    offset: int


Records = Iterable[Value | Record]


class PipelineTest:
    """Runs a declared pipeline on batches of records, with its decoder, watermark, state and a checkpoint, without Kafka.

    Each batch is run by a query that resumes from the checkpoint, so there is a restart between any two of them.
    """

    def __init__(self, transform: Callable[..., Any] | Pipeline, *, timezone: str = "UTC") -> None:
        """
        Args:
            transform: The function below `@ab.pipeline(...)`.
            timezone: Of times without a zone, as the project's setting `timezone`.
        """
        self._pipeline = transform if isinstance(transform, Pipeline) else declared_pipeline(transform)
        self._timezone = timezone
        self._open = ExitStack()
        self._started: Rehearsal | None = None
        self._batches: list[RehearsedBatch] = []
        self._newest = _EPOCH

    def __enter__(self) -> PipelineTest:
        from anabranch.streaming.rehearsal import Rehearsal
        from anabranch.testing.session import spark_session

        spark = spark_session(self._pipeline, self._timezone)
        directory = Path(self._open.enter_context(TemporaryDirectory(prefix="anabranch-", ignore_cleanup_errors=True)))
        self._started = Rehearsal(spark, self._pipeline, directory, self._timezone)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._started = None
        self._open.close()

    def batch(self, records: Records | Mapping[str, Records] = ()) -> list[dict[str, Any]]:
        """Runs one batch; the results that it emits, with those of windows that it closes, sorted by the pipeline's key.

        Args:
            records: Of the pipeline's topic; of several topics, topic -> records.

        Times of results are in UTC, a window is `{"start": ..., "end": ...}`.
        """
        by_topic = records if isinstance(records, Mapping) else {self._only_topic: records}
        if unknown := by_topic.keys() - set(self._pipeline.topic_names):
            raise messages.NOT_A_TOPIC(
                pipeline=self._pipeline.name, topics=list(self._pipeline.topic_names), given=sorted(unknown)
            )
        rehearsal = self._rehearsal
        rehearsal.add([[self._raw(one, number) for one in by_topic.get(topic.name, ())] for number, topic in self._topics])
        return self._results(rehearsal.run())

    def restart(self) -> list[dict[str, Any]]:
        """As after a crash between the write of the last batch and its commit: the batch runs again, from the state before it.

        Returns what it emits. It should be what it emitted before.
        """
        again = self._rehearsal.repeat_last()
        self._batches = self._batches[: -len(again)] if again else self._batches
        return self._results(again)

    @property
    def late(self) -> int:
        """How many records the watermark has dropped so far."""
        return sum(batch.figures.late or 0 for batch in self._batches)

    @property
    def watermark(self) -> datetime | None:
        """What the next batch runs with: a window that ends at or before it is closed. None: there is none yet."""
        watermark_ms = self._rehearsal.watermark_ms
        return None if watermark_ms is None else datetime.fromtimestamp(watermark_ms / 1000, UTC)

    @property
    def problems(self) -> list[Problem]:
        """The records so far that the decoder rejected."""
        from anabranch.testing.rows import problems

        return [
            Problem(*found)
            for number, _ in self._topics
            for found in problems(self._rehearsal.read(number), self._pipeline, number, self._timezone)
        ]

    @property
    def _rehearsal(self) -> Rehearsal:
        if self._started is None:
            raise messages.TEST_NOT_ENTERED(pipeline=self._pipeline.name)
        return self._started

    @property
    def _topics(self) -> list[tuple[int, Any]]:
        return list(enumerate(self._pipeline.topics))

    @property
    def _only_topic(self) -> str:
        if len(self._pipeline.topics) > 1:
            raise messages.BATCH_NEEDS_TOPICS(pipeline=self._pipeline.name, topics=list(self._pipeline.topic_names))
        return self._pipeline.topic.name

    def _raw(self, given: Value | Record, number: int) -> RawRecord:
        from anabranch.streaming.rehearsal import RawRecord

        record = given if isinstance(given, Record) else Record(given)
        value = record.value
        if isinstance(value, Mapping):
            self._newest = event_time_of(value, self._pipeline.topics[number], self._timezone) or self._newest
            value = json_text(value)
        content = value.encode() if isinstance(value, str) else value
        return RawRecord(content, record.timestamp or self._newest, record.key, record.headers)

    def _results(self, batches: Sequence[RehearsedBatch]) -> list[dict[str, Any]]:
        from anabranch.testing.rows import as_dicts

        self._batches.extend(batches)
        return as_dicts([row for batch in batches for row in batch.rows], self._pipeline.grouping)
