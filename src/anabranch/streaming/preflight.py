"""What must hold before a query starts on a checkpoint: looks at Kafka, the checkpoint, its baseline and its sink.

startable.py judges what is found here. Kafka is asked, because Spark does not (docs/internals/hazards.md, N).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from shlex import quote
from typing import TYPE_CHECKING

from anabranch.checkpoint.baseline import Baseline
from anabranch.checkpoint.baseline_file import code_fingerprint, read_baseline, write_baseline
from anabranch.checkpoint.layout import OffsetRange, RetainedOffsets
from anabranch.checkpoint.reader import read_logs
from anabranch.errors import AnabranchError, Reason
from anabranch.operations.fence import check_not_fenced
from anabranch.pipeline.definition import Pipeline
from anabranch.project.project import CheckpointRef, Project, admin_of
from anabranch.spark.session import shuffle_partitions
from anabranch.storage.files import CheckpointLocation
from anabranch.streaming.sinks import policy_of
from anabranch.streaming.sinks.base import Start
from anabranch.streaming.startable import (
    StartFacts,
    what_changed,
    where_it_starts,
    why_not_retained,
    why_not_these_settings,
    why_not_this_source,
)
from anabranch.text.format import format_duration

if TYPE_CHECKING:
    from anabranch.kafka.admin import KafkaAdmin


@dataclass(frozen=True)
class CheckedStart:
    # Where it starts, and what is not as it was.
    said: tuple[Reason, ...]
    # Where a first start reads from, as Spark takes it.
    starting_offsets: str
    # The pipeline as a command names it, with its sink.
    called: str


def check_start(
    project: Project, pipeline: Pipeline, admin: KafkaAdmin, start: Start, spark_settings: Mapping[str, str] | None = None
) -> CheckedStart:
    """Refuses if the checkpoint is of something else, Kafka lacks what the next batch needs, or the sink does not fit."""
    location = project.checkpoint(pipeline)
    # Spark would fail on the fence too, with words that do not mention it.
    check_not_fenced(location.storage(), f"{pipeline.name} cannot start")
    facts = inspect_start(project, pipeline, location, admin, spark_settings)
    begins = _begins(facts, start)
    for refused in _refusals(facts, begins):
        raise refused
    policy = policy_of(pipeline.sink)
    notes = policy.check_continued(facts, admin, begins) if facts.is_first and start == "sink" else []
    before = facts.before if not facts.is_first else None
    write_baseline(location, replace(facts.now, codes={**facts.now.codes, **(before.codes if before else {})}))
    said = (where_it_starts(facts, start), *what_changed(facts), *notes)
    starting_offsets = _as_spark_takes_it(pipeline, begins) if start == "sink" else start
    return CheckedStart(said, starting_offsets, facts.called)


def note_started(project: Project, pipeline: Pipeline) -> None:
    """Adds to the baseline what is known only once the query has run: its id, and the table that it has created."""
    location = project.checkpoint(pipeline)
    if (baseline := read_baseline(location)) is not None:
        query_id = read_logs(location.storage()).query_id
        write_baseline(location, replace(baseline, query_id=query_id, table_id=policy_of(pipeline.sink).table_id(pipeline)))


def why_not_startable(
    project: Project, pipeline: Pipeline, location: CheckpointLocation, admin: KafkaAdmin | None
) -> list[AnabranchError]:
    """The refusals that a run would end with. Without Kafka, those that need none."""
    try:
        check_not_fenced(location.storage(), f"{pipeline.name} cannot start")
        facts = inspect_start(project, pipeline, location, admin)
        return list(_refusals(facts, _begins(facts, "earliest")))
    except AnabranchError as error:
        return [error]


@dataclass(frozen=True)
class Outlook:
    """What a run and a rewind would say of a checkpoint now."""

    # What Kafka retains of its source; None: not known, or of other records.
    retained: RetainedOffsets | None = None
    # Why a run would be refused.
    refusals: tuple[AnabranchError, ...] = ()
    # Why no batch can be rewound to, whatever the checkpoint holds.
    blocked: tuple[Reason, ...] = ()


def outlook_of(project: Project, ref: CheckpointRef) -> Outlook:
    """Of a checkpoint that is not ours nothing is known. Kafka may be unreachable: then the rest is judged."""
    if ref.pipeline is None:
        return Outlook()
    try:
        admin = admin_of(project)
        admin.all()
    except AnabranchError:
        return Outlook(refusals=tuple(why_not_startable(project, ref.pipeline, ref.location, None)))
    refusals = tuple(why_not_startable(project, ref.pipeline, ref.location, admin))
    try:
        facts = inspect_start(project, ref.pipeline, ref.location, admin)
    except AnabranchError:
        return Outlook(refusals=refusals)
    if blocked := tuple(refused.reason for refused in why_not_this_source(facts)):
        return Outlook(None, refusals, blocked)
    return Outlook({facts.pipeline.source_topic: facts.retained or {}}, refusals)


def check_same_source(facts: StartFacts) -> None:
    for refused in why_not_this_source(facts):
        raise refused


def inspect_start(
    project: Project,
    pipeline: Pipeline,
    location: CheckpointLocation,
    admin: KafkaAdmin | None,
    spark_settings: Mapping[str, str] | None = None,
) -> StartFacts:
    checkpoint, before = read_logs(location.storage()), read_baseline(location)
    topic = pipeline.source_topic
    now = Baseline(
        query_id=checkpoint.query_id,
        cluster_id=admin.cluster_id() if admin else None,
        source_topic=topic,
        topic_id=admin.topic_id(topic) if admin else before.topic_id if before else "",
        sink=pipeline.sink.identity(str(project.directory)),
        table_id=policy_of(pipeline.sink).table_id(pipeline),
        zone=project.settings.timezone,
        window_s=pipeline.window_s,
        watermark_s=pipeline.watermark_s,
        shuffle_partitions=shuffle_partitions(project.settings.spark, spark_settings or {}),
        future_tolerance="none" if pipeline.future_tolerance_s is None else format_duration(pipeline.future_tolerance_s),
        skip=pipeline.skip,
        codes={code_fingerprint(pipeline.transform): checkpoint.next_batch},
    )
    return StartFacts(
        pipeline=pipeline,
        path=str(location),
        checkpoint=checkpoint,
        before=before,
        now=now,
        retained=admin.offset_ranges(topic) if admin else None,
        called=pipeline.name + ("" if project.is_own_sink(pipeline) else f" --to {quote(str(now.sink))}"),
        set_aside=project.set_aside_command(pipeline, location),
    )


def _refusals(facts: StartFacts, begins: Mapping[int, int] | None) -> Iterator[AnabranchError]:
    source = list(why_not_this_source(facts))
    yield from source
    settings = list(why_not_these_settings(facts))
    yield from settings
    if not source:
        yield from why_not_retained(facts)
    if not settings:
        yield from policy_of(facts.pipeline.sink).why_not_start(facts, begins)


def _begins(facts: StartFacts, start: Start) -> Mapping[int, int] | None:
    """Partition -> the offset that a first start reads first; None: Kafka is unreachable."""
    if facts.retained is None:
        return None
    if start == "sink" and facts.is_first:
        held = policy_of(facts.pipeline.sink).held_until(facts.pipeline)
        return {partition: max(offsets.earliest, held.get(partition, 0)) for partition, offsets in facts.retained.items()}
    return {partition: _end_of(offsets, start) for partition, offsets in facts.retained.items()}


def _end_of(offsets: OffsetRange, start: Start) -> int:
    return offsets.end if start == "latest" else offsets.earliest


def _as_spark_takes_it(pipeline: Pipeline, begins: Mapping[int, int] | None) -> str:
    assert begins is not None
    return json.dumps({pipeline.source_topic: {str(partition): offset for partition, offset in begins.items()}})
