"""A drawn stream as a project has it on the disk: checkpoints, the history of batches, the lake, the operations."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake

from anabranch.checkpoint.history import NewestEvent, append_batch, append_rewind
from anabranch.delta.hours import PARTITIONS as HOUR
from anabranch.pipeline.definition import Pipeline
from anabranch.pipeline.sinks import Results, Table
from anabranch.project.project import Project, open_project
from anabranch.reprocess.apply import REPROCESS
from anabranch.reprocess.plan import Range, ReprocessPlan
from anabranch.reprocess.staleness import InputSnapshot
from anabranch.storage.files import CheckpointLocation
from anabranch.text.format import iso_utc
from tests.audit.drawn_streams import PARTITIONS, Record, Stream
from tests.support.drawing import draw, offsets, write_tree
from tests.support.histories import record

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def write_project(stream: Stream, directory: Path, retained: int) -> tuple[Project, Pipeline]:
    """Spark has kept so many batches of its logs: what is known of the others the history tells."""
    (directory / ".anabranch").mkdir(parents=True)
    project = open_project(directory)
    (found,) = project.find(["visits-counter"])
    windows = stream.windows
    pipeline = found.changed(
        window_s=windows.length_ms / 1000, slide_s=windows.slide_ms / 1000, watermark_s=stream.delay_ms / 1000
    )
    filling = project.lake_for(pipeline)
    assert filling is not None
    topic = pipeline.topic.name
    ends = {p: end for p, end in stream.lake_ends.items() if end or p in stream.begins}
    _write_logs(project.checkpoint(filling), topic, {0: (0, ends)}, {0}, dict.fromkeys(ends, 0))
    _write_stream(stream, project.checkpoint(pipeline), topic, retained)
    assert isinstance(filling.sink, Table)
    write_deltalake(filling.sink.path, _lake(stream, topic), partition_by=list(HOUR))
    for number, (operation, _, _, from_ms, to_ms) in enumerate(stream.corrections):
        plan = _plan(pipeline, Range(from_ms, to_ms), stream.last_known(operation))
        project.operations.record_plan(f"20250904T07{number:02}00-reprocess-{number:04}", REPROCESS, plan)
    return project, pipeline


def _write_stream(stream: Stream, location: CheckpointLocation, topic: str, retained: int) -> None:
    """All that ran has its line, and each rewind: in the order of time."""
    for run, batch, watermark_ms, is_committed, _ in stream.runs:
        ranges = {p: (first, end) for number, p, first, end in stream.reads if number == run}
        if is_committed:
            newest = _newest(stream, topic, ranges)
            about = record(batch, watermark=iso_utc(watermark_ms), newest_event=newest, ranges={topic: ranges})
            append_batch(location, about)
        for number, (after, to_batch) in enumerate(stream.rewinds):
            if after == run:
                append_rewind(location, f"rewind-{number}", to_batch)
    logs = {one.batch: (one.watermark_ms, {p: end for p, (_, end) in one.ranges.items()}) for one in stream.committed}
    committed = set(logs)
    run, batch, watermark_ms, is_committed, _ = stream.runs[-1]
    if not is_committed and not any(after == run for after, _ in stream.rewinds):
        logs[batch] = (watermark_ms, {p: end for number, p, _, end in stream.reads if number == run})
    kept = sorted(logs)[-retained:]
    _write_logs(location, topic, {batch: logs[batch] for batch in kept}, committed & set(kept), stream.begins)


def _write_logs(
    location: CheckpointLocation,
    topic: str,
    logs: Mapping[int, tuple[int, Mapping[int, int]]],
    committed: set[int],
    begins: Mapping[int, int],
) -> None:
    tree = draw(None, batches=sorted(logs), committed=sorted(committed))
    tree["sources/0/0"] = "\0v1\n" + json.dumps({topic: begins})
    for batch, (watermark_ms, ends) in logs.items():
        version, head, _ = offsets(batch, watermark_ms=watermark_ms).split("\n")
        tree[f"offsets/{batch}"] = f"{version}\n{head}\n{json.dumps({topic: ends})}"
    write_tree(tree, location.path)


def _newest(stream: Stream, topic: str, ranges: Mapping[int, tuple[int, int]]) -> NewestEvent | None:
    times = [
        (one.event_ms, p, first + place)
        for p, (first, end) in ranges.items()
        for place, one in enumerate(stream.records[p][first:end])
        if one.is_usable and one.event_ms is not None
    ]
    if not times:
        return None
    time_ms, partition, offset = max(times)
    return NewestEvent(iso_utc(time_ms), topic, partition, offset)


def _lake(stream: Stream, topic: str) -> pa.Table:
    """Also what was there before the stream began."""
    rows = [
        _row(topic, p, offset, stream.records[p][offset]) for p in PARTITIONS for offset in range(stream.lake_ends.get(p, 0))
    ]
    microseconds = pa.timestamp("us", "UTC")
    columns = {"event_time": microseconds, "problem": pa.string(), "topic": pa.string(), "partition": pa.int32()}
    schema = pa.schema({**columns, "offset": pa.int64(), "record_time": microseconds, **dict.fromkeys(HOUR, pa.int32())})
    return pa.Table.from_pylist(rows, schema)


def _row(topic: str, partition: int, offset: int, one: Record) -> dict[str, object]:
    moment = None if one.event_ms is None else EPOCH + timedelta(milliseconds=one.event_ms)
    hour = dict.fromkeys(HOUR) if moment is None else {name: getattr(moment, name) for name in HOUR}
    return {
        "event_time": moment,
        "problem": None if one.is_usable else "wrong type: visit_id",
        "topic": topic,
        "partition": partition,
        "offset": offset,
        "record_time": datetime(2025, 9, 4, tzinfo=UTC),
        **hour,
    }


def _plan(pipeline: Pipeline, wanted: Range, records: Mapping[int, tuple[int, int]]) -> ReprocessPlan:
    assert isinstance(pipeline.sink, Results)
    return ReprocessPlan(
        operation="",
        pipeline=pipeline.name,
        topic=pipeline.sink.name,
        asked=wanted,
        range=wanted,
        ranges=(wanted,),
        windows=1,
        lake="lake",
        lake_version=0,
        files=1,
        rows=1,
        results=0,
        changed=0,
        changes=(),
        unexpected_results=0,
        unexpected=(),
        inputs=InputSnapshot("", "", {}, "", "", records),
        audit=None,
    )
