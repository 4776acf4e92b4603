"""A stream and its lake that never ran: both checkpoints, the history and the table are drawn from what each batch read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake

from anabranch.checkpoint.history import BatchRecord, NewestEvent, append_batch
from anabranch.delta.hours import PARTITIONS
from anabranch.pipeline.definition import Pipeline
from anabranch.pipeline.sinks import Table
from anabranch.project.project import Project, open_project
from anabranch.text.format import iso_utc
from tests.support.drawing import draw, offsets, write_tree
from tests.support.histories import record

# Of each batch: partition -> the event times of its records, in order. None: a record with a problem.
Batches = Sequence[dict[int, list[int | None]]]


def ends_of(batches: Batches) -> list[dict[int, int]]:
    """Behind what each batch has read, of every partition."""
    ends, so_far = [], dict.fromkeys(sorted({partition for batch in batches for partition in batch}), 0)
    for batch in batches:
        so_far = {partition: end + len(batch.get(partition, [])) for partition, end in so_far.items()}
        ends.append(so_far)
    return ends


def watermarks_ms_of(batches: Batches, delay_ms: int) -> list[int]:
    """As Spark logs them: that of a batch follows from those before it."""
    watermarks, reached = [], 0
    for batch in batches:
        watermarks.append(max(0, reached - delay_ms))
        reached = max([reached, *(time for times in batch.values() for time in times if time is not None)])
    return watermarks


def draw_ran(directory: Path, name: str, batches: Batches, *, lake_behind: int = 0, history_from: int = 0) -> Project:
    """The pipeline has run these batches, and the lake has them all but the last few."""
    (directory / ".anabranch").mkdir(exist_ok=True, parents=True)
    project = open_project(directory)
    (pipeline,) = project.find([name])
    filling = project.lake_for(pipeline)
    assert filling is not None
    held = batches[: len(batches) - lake_behind]
    _draw_checkpoint(project, filling, held, [0] * (len(held) + 1), range(0))
    delay_ms = round((pipeline.watermark_s or 0) * 1000)
    watermarks_ms = watermarks_ms_of([*batches, {}], delay_ms)
    _draw_checkpoint(project, pipeline, batches, watermarks_ms, range(history_from, len(batches)))
    assert isinstance(filling.sink, Table)
    write_deltalake(filling.sink.path, _rows(pipeline.topic.name, held), partition_by=list(PARTITIONS))
    return project


def _draw_checkpoint(
    project: Project, pipeline: Pipeline, batches: Batches, watermarks_ms: Sequence[int], history: range
) -> None:
    """`watermarks_ms`: of each batch, and of the one behind them."""
    location, ends = project.checkpoint(pipeline), ends_of(batches)
    tree = draw(None, batches=range(len(batches)))
    topic = pipeline.topic.name
    tree["sources/0/0"] = "\0v1\n" + json.dumps({topic: {str(partition): 0 for partition in ends[0]}})
    for batch, (watermark_ms, next_ms) in enumerate(pairwise(watermarks_ms)):
        tree[f"commits/{batch}"] = f'v1\n{{"nextBatchWatermarkMs":{next_ms}}}'
        version, head, _ = offsets(batch, watermark_ms=watermark_ms).split("\n")
        end = {str(partition): end for partition, end in ends[batch].items()}
        tree[f"offsets/{batch}"] = f"{version}\n{head}\n{json.dumps({topic: end})}"
    write_tree(tree, location.path)
    for batch in history:
        begin = ends[batch - 1] if batch else dict.fromkeys(ends[0], 0)
        append_batch(location, _record(topic, batch, batches[batch], begin, ends[batch], watermarks_ms[batch]))


def _record(
    topic: str, batch: int, read: dict[int, list[int | None]], begin: dict[int, int], end: dict[int, int], watermark_ms: int
) -> BatchRecord:
    times = [(time, p, begin[p] + n) for p, all_of in read.items() for n, time in enumerate(all_of) if time is not None]
    newest = max(times, default=None)
    return record(
        batch,
        watermark=iso_utc(watermark_ms),
        newest_event=None if newest is None else NewestEvent(iso_utc(newest[0]), topic, newest[1], newest[2]),
        ranges={topic: {partition: (begin[partition], end[partition]) for partition in end}},
    )


def _rows(topic: str, batches: Batches) -> pa.Table:
    ends, rows = ends_of(batches), []
    for number, batch in enumerate(batches):
        for partition, times in batch.items():
            first = ends[number][partition] - len(times)
            for place, time in enumerate(times):
                moment = None if time is None else datetime.fromtimestamp(time / 1000, UTC)
                problem = "no JSON" if time is None else None
                hour = [None] * len(PARTITIONS) if moment is None else moment.timetuple()[: len(PARTITIONS)]
                rows.append((moment, problem, topic, partition, first + place, datetime(2025, 9, 4, tzinfo=UTC), *hour))
    microseconds = pa.timestamp("us", "UTC")
    columns = {"event_time": microseconds, "problem": pa.string(), "topic": pa.string(), "partition": pa.int32()}
    hours = dict.fromkeys(PARTITIONS, pa.int32())
    schema = pa.schema({**columns, "offset": pa.int64(), "record_time": microseconds, **hours})
    return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)
