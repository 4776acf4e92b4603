"""Looks at what a reprocess stands on: the stream, the lake, and the topic of its results. It reads, and changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from anabranch.checkpoint.log_reader import Checkpoint
from anabranch.checkpoint.logs import KafkaOffsets
from anabranch.checkpoint.offsets import OffsetRange
from anabranch.delta.lake import visits_within
from anabranch.kafka.admin import Topics
from anabranch.kafka.records import read_records
from anabranch.pipeline.definition import VISITS_LAKE, Pipeline, Topic
from anabranch.project.project import Project
from anabranch.reprocess.plan import Range, StreamState
from anabranch.reprocess.staleness import InputSnapshot, LaterResult
from anabranch.storage.files import read_json
from anabranch.streaming.result_headers import OPERATION, ORIGIN


def stream_state(project: Project, pipeline: Pipeline) -> StreamState:
    stream = Checkpoint(project.checkpoint(pipeline))
    lake = Checkpoint(project.checkpoint(project.pipeline(VISITS_LAKE)))
    committed = stream.committed_batches()
    entry, commit = (stream.offsets(committed[-1]), stream.commit(committed[-1])) if committed else (None, None)
    topic = pipeline.source_topic
    return StreamState(
        watermark_ms=entry.watermark_ms if entry else None,
        next_watermark_ms=commit.next_watermark_ms if commit else None,
        stream_read=_committed_ends(stream).get(topic, {}),
        lake_read=_committed_ends(lake).get(topic, {}),
    )


def take_snapshot(
    project: Project, pipeline: Pipeline, wanted: Range, topics: Topics, lake_version: int | None = None
) -> InputSnapshot:
    """As it is now; the lake as it was at `lake_version`, if that is given."""
    assert isinstance(pipeline.sink, Topic)
    results = pipeline.sink.name
    start, end = (datetime.fromtimestamp(moment_ms / 1000, UTC) for moment_ms in (wanted.start_ms, wanted.end_ms))
    lake_id, visits = visits_within(project.lake, pipeline.source_topic, start, end, lake_version)
    return InputSnapshot(
        source_topic_id=topics.topic_id(pipeline.source_topic),
        result_topic_id=topics.topic_id(results),
        results={partition: (held.earliest, held.end) for partition, held in topics.reach(results).items()},
        stream_id=_query_id(project.checkpoint(pipeline)),
        lake_id=lake_id,
        visits=visits,
    )


def later_results(topics: Topics, topic: str, seen: InputSnapshot, now: InputSnapshot) -> Iterator[LaterResult]:
    """What has come to the topic since the plan's look at it: only that is read."""
    since = {
        partition: OffsetRange(max(earliest, seen.results.get(partition, (0, 0))[1]), end)
        for partition, (earliest, end) in now.results.items()
    }
    for record in read_records(topics, topic, follow=False, within=since):
        if record.key is not None:
            yield LaterResult(record.key_text, record.header(ORIGIN) or "elsewhere", record.header(OPERATION))


def _query_id(checkpoint: Path) -> str:
    return str((read_json(checkpoint / "metadata") or {}).get("id"))


def _committed_ends(checkpoint: Checkpoint) -> KafkaOffsets:
    committed = checkpoint.committed_batches()
    return checkpoint.kafka_ends(committed[-1]) if committed else {}
