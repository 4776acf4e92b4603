"""Reads what an audit depends on besides its pins: where the results are, the lake's records by window, corrections.

Changes nothing, starts no Spark.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from anabranch.audit import messages
from anabranch.audit.pins import Pinned
from anabranch.audit.windows import (
    Correction,
    LateTally,
    WindowCount,
    count_windows,
    late_cutoffs,
    tally_late,
)
from anabranch.delta.counts import count_by_bin, records_from
from anabranch.delta.held import read_mark
from anabranch.delta.stored import BinCount
from anabranch.kafka.admin import KafkaAdmin
from anabranch.pipeline.definition import Pipeline
from anabranch.pipeline.sinks import Results, Table
from anabranch.pipeline.windows import Windows, windows_of
from anabranch.project.project import Project
from anabranch.reprocess.apply import FORMATS
from anabranch.reprocess.plan import Range, times_of, with_topic

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)


@dataclass(frozen=True)
class Target:
    """The results at one moment."""

    # None: they are in a table.
    topic_id: str | None
    # Partition -> the half-open range of offsets that the topic retains.
    offsets: Mapping[int, tuple[int, int]]
    table_version: int | None


def audited(pipeline: Pipeline, topic: str | None) -> Pipeline:
    """The pipeline as sent to where its results are. Refuses one whose windows cannot be recomputed, or go to the console."""
    if topic is None and isinstance(pipeline.sink, Table):
        with_topic(pipeline, pipeline.result_topic)
        return pipeline
    return with_topic(pipeline, topic)


def read_target(pipeline: Pipeline, admin: KafkaAdmin) -> Target:
    """After the pins: all results of the batches that these have are there."""
    if isinstance(pipeline.sink, Table):
        mark = read_mark(pipeline.sink.path, None)
        if mark is None:
            raise messages.NO_RESULT_TABLE(pipeline=pipeline.name, table=pipeline.sink.path)
        return Target(None, {}, mark.version)
    assert isinstance(pipeline.sink, Results)
    topic = pipeline.sink.name
    offsets = {partition: (held.earliest, held.end) for partition, held in admin.offset_ranges(topic).items()}
    return Target(admin.topic_id(topic), offsets, None)


@dataclass(frozen=True)
class LakeCounts:
    bins: Sequence[BinCount]
    # When a window begins -> its records.
    windows: dict[int, WindowCount]


def count_lake(
    pipeline: Pipeline, pinned: Pinned, wanted: Sequence[Range], begins: Mapping[int, int] | None = None
) -> LakeCounts:
    """Of all windows that begin in these ranges, also of those that are open. `begins`: only from these offsets on."""
    windows = windows_of(pipeline)
    times = [times_of(one, windows) for one in wanted]
    within = [(moment(one.start_ms), moment(one.end_ms)) for one in times]
    topic, bin_us = pipeline.topic.name, windows.bin_ms * 1000
    bins = count_by_bin(pinned.lake, topic, pinned.lake_version, within, bin_us, begins or pinned.begins)
    counts = count_windows(bins, windows)
    return LakeCounts(bins, {start: one for start, one in counts.items() if any(part.holds(start) for part in wanted)})


def count_late(
    pipeline: Pipeline, pinned: Pinned, counts: LakeCounts, ranges: Sequence[Range], corrected: Mapping[int, Correction]
) -> LateTally:
    """The late records of the windows that begin in these ranges; each window gets its number of them."""
    windows, timeline = windows_of(pipeline), pinned.ran.timeline
    cutoffs = late_cutoffs(bins_within(counts.bins, ranges, windows), timeline, windows)
    records = records_from(pinned.lake, pipeline.topic.name, pinned.lake_version, windows.bin_ms * 1000, cutoffs)
    judged = {start: one for start, one in counts.windows.items() if any(part.holds(start) for part in ranges)}
    return tally_late(records, timeline, windows, round(pinned.delay_s * 1000), judged, corrected)


def bins_within(bins: Sequence[BinCount], ranges: Sequence[Range], windows: Windows) -> list[BinCount]:
    """Of the records in windows that begin in these ranges."""
    within = [times_of(one, windows) for one in ranges]
    return [one for one in bins if one.bin is not None and any(part.holds(one.bin * windows.bin_ms) for part in within)]


def corrections_of(project: Project, pipeline: Pipeline) -> list[Correction]:
    """The operations that have sent results of the pipeline, or begun to: the oldest first."""
    if not isinstance(pipeline.sink, Results):
        return []
    return list(_corrections(project, pipeline.name, pipeline.sink.name))[::-1]


def _corrections(project: Project, pipeline: str, topic: str) -> Iterator[Correction]:
    for operation in project.operations.all():
        plan_format = FORMATS.get(operation.kind)
        if operation.problem is not None or plan_format is None or operation.state == "refused":
            continue
        plan = operation.decode(plan_format)
        if (plan.pipeline, plan.topic) == (pipeline, topic):
            known = {partition: last + 1 for partition, (_, last) in plan.inputs.records.items()}
            yield Correction(operation.id, plan.ranges, known)


def moment(moment_ms: int) -> datetime:
    """The last one of the calendar for what is behind it."""
    return min(_LAST, _EPOCH + timedelta(milliseconds=moment_ms)) if moment_ms < 253_402_300_800_000 else _LAST
