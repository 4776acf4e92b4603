"""Reads what a reprocess depends on: the stream, the lake, and the topic of its results. Changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from anabranch.checkpoint.layout import OffsetRange
from anabranch.checkpoint.reader import read_logs
from anabranch.delta.lake import records_within
from anabranch.kafka.admin import KafkaAdmin
from anabranch.kafka.records import read_records
from anabranch.operations.fence import check_not_fenced
from anabranch.pipeline.catalog import LAKE
from anabranch.pipeline.definition import Pipeline, Topic
from anabranch.project.project import Project
from anabranch.reprocess.plan import Range, StreamState, check_closed, check_lake, whole_windows
from anabranch.reprocess.staleness import InputSnapshot, LaterResult
from anabranch.streaming.result_headers import OPERATION, ORIGIN


def check_range(project: Project, pipeline: Pipeline, asked: Range) -> Range:
    """The whole windows of what was asked for; refuses what may not be recomputed now. Starts no Spark."""
    assert pipeline.window_s is not None
    wanted = whole_windows(asked, pipeline.window_s)
    for one in (pipeline, project.pipeline(LAKE)):
        check_not_fenced(project.checkpoint(one).storage(), f"{pipeline.name} cannot be recomputed")
    state = stream_state(project, pipeline)
    check_closed(pipeline, wanted, state)
    check_lake(pipeline, state)
    return wanted


def stream_state(project: Project, pipeline: Pipeline) -> StreamState:
    stream = read_logs(project.checkpoint(pipeline).storage())
    lake = read_logs(project.checkpoint(project.pipeline(LAKE)).storage())
    committed = stream.commits.newest
    entry, commit = (None, None) if committed is None else (stream.offset_entry(committed), stream.commit_entry(committed))
    topic = pipeline.source_topic
    return StreamState(
        watermark_ms=entry.watermark_ms if entry else None,
        next_watermark_ms=commit.next_watermark_ms if commit else None,
        stream_read=stream.end_of(stream.commits.newest).get(topic, {}),
        lake_read=lake.end_of(lake.commits.newest).get(topic, {}),
    )


def take_snapshot(
    project: Project, pipeline: Pipeline, wanted: Range, admin: KafkaAdmin, lake_version: int | None = None
) -> InputSnapshot:
    """As it is now; the lake as it was at `lake_version`, if that is given."""
    assert isinstance(pipeline.sink, Topic)
    results = pipeline.sink.name
    start, end = (datetime.fromtimestamp(moment_ms / 1000, UTC) for moment_ms in (wanted.start_ms, wanted.end_ms))
    lake_id, records = records_within(project.lake, pipeline.source_topic, start, end, lake_version)
    return InputSnapshot(
        source_topic_id=admin.topic_id(pipeline.source_topic),
        result_topic_id=admin.topic_id(results),
        results={partition: (held.earliest, held.end) for partition, held in admin.offset_ranges(results).items()},
        stream_id=str(read_logs(project.checkpoint(pipeline).storage()).query_id),
        lake_id=lake_id,
        records=records,
    )


def later_results(admin: KafkaAdmin, topic: str, planned: InputSnapshot, now: InputSnapshot) -> Iterator[LaterResult]:
    """What has come to the topic since the plan read it: only that is read."""
    since = {
        partition: OffsetRange(max(earliest, planned.results.get(partition, (0, 0))[1]), end)
        for partition, (earliest, end) in now.results.items()
    }
    for record in read_records(admin, topic, within=since):
        if record.key is not None:
            yield LaterResult(record.key_text, record.header(ORIGIN) or "elsewhere", record.header(OPERATION))
