"""A stream and its lake at one moment: the batches that stand, and the version of the lake that has all that they have read.

Changes nothing, starts no Spark. What is computed from pins does not depend on what comes while it is computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from anabranch.audit import messages
from anabranch.checkpoint.baseline_file import read_baseline
from anabranch.checkpoint.history import lines_newest_first, size_of
from anabranch.checkpoint.ran import Enough, Ran, read_ran
from anabranch.checkpoint.reader import read_logs
from anabranch.delta.lake import open_lake
from anabranch.operations.fence import check_not_fenced
from anabranch.pipeline.definition import Pipeline
from anabranch.project.lake import lake_path
from anabranch.project.project import Project
from anabranch.reprocess.inspect import check_lake, filling_of, read_by


@dataclass(frozen=True)
class Pinned:
    # Up to the newest batch whose records are all in the lake.
    ran: Ran
    # How much of the history of its batches there was before it was read.
    history_bytes: int
    # Partition -> the first offset that the stream was to read, where that is not 0.
    begins: Mapping[int, int]
    lake: str
    lake_id: str
    lake_version: int
    # How many batches the lake is behind the stream.
    behind: int
    # The watermark delay, as the stream last started with it: a changed setting is not in force before its next start.
    delay_s: float


def pin(project: Project, pipeline: Pipeline, is_enough: Enough = lambda _: False) -> Pinned:
    """Refuses where the lake lacks records, or where an operation on a checkpoint is not finished."""
    filling, topic = filling_of(project, pipeline), pipeline.topic.name
    for one in (pipeline, filling):
        check_not_fenced(project.checkpoint(one).storage(), f"{pipeline.name} cannot be audited")
    history_bytes = size_of(project.checkpoint(pipeline))
    ran = read_ran(project.checkpoint(pipeline), topic, is_enough)
    if ran is None:
        raise messages.NEVER_RAN(pipeline=pipeline.name)
    newest = ran.timeline.last
    # Before its version is opened: what its query has committed is in the table.
    held = {partition: end for partition, (_, end) in read_by(project, filling, topic).items()}
    batch = ran.timeline.newest_within(held)
    if batch is not None:
        ran = replace(ran, timeline=ran.timeline.cut(batch))
    starts = read_logs(project.checkpoint(pipeline).storage()).start_of(0).get(topic, {})
    begins = {partition: starts.get(partition, 0) for partition in ran.timeline.ends}
    read = {partition: (begins[partition], end) for partition, end in ran.timeline.read.items()}
    version = check_lake(project, pipeline, read)
    path = lake_path(filling)
    return Pinned(
        ran=ran,
        history_bytes=history_bytes,
        begins={partition: first for partition, first in begins.items() if first},
        lake=str(path),
        lake_id=str(open_lake(path, version).metadata().id),
        lake_version=version,
        behind=newest - ran.timeline.last,
        delay_s=_delay_s(project, pipeline),
    )


def _delay_s(project: Project, pipeline: Pipeline) -> float:
    baseline = read_baseline(project.checkpoint(pipeline))
    ran_s = None if baseline is None else baseline.watermark_s
    return (pipeline.watermark_s or 0.0) if ran_s is None else ran_s


def was_rewound(project: Project, pipeline: Pipeline, history_bytes: int) -> bool:
    """Whether an operation has changed which batches stand, since there was so much of their history."""
    location = project.checkpoint(pipeline)
    lines = lines_newest_first(location, history_bytes)
    return size_of(location) < history_bytes or any(one is not None and one.operation is not None for one in lines)


def deepened(project: Project, pipeline: Pipeline, pinned: Pinned, is_enough: Enough) -> Pinned:
    """The same pins, with more of the past. Refuses where the pinned batches no longer stand."""
    ran = read_ran(project.checkpoint(pipeline), pipeline.topic.name, is_enough)
    was = pinned.ran.timeline
    if ran is None or ran.query_id != pinned.ran.query_id or ran.timeline.last < was.last:
        raise messages.BATCHES_TAKEN_BACK(pipeline=pipeline.name)
    return replace(pinned, ran=replace(ran, timeline=ran.timeline.cut(was.last)))


def check_stands(project: Project, pipeline: Pipeline, pinned: Pinned) -> None:
    """Refuses where the pinned batches are no longer those of the stream: a rewind takes batches back, and they run again."""
    was = pinned.ran.timeline
    now = deepened(project, pipeline, pinned, lambda one: one.batch <= was.first).ran.timeline
    same = (now.first, list(now.watermarks_ms), now.ends) == (was.first, list(was.watermarks_ms), was.ends)
    if not same:
        raise messages.BATCHES_TAKEN_BACK(pipeline=pipeline.name)
