"""What must hold before a query starts on a checkpoint: looks at Kafka, the checkpoint, its baseline and its sink.

startable.py judges what is found here. Kafka is asked, because Spark does not (docs/internals/hazards.md, N).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from anabranch.checkpoint.baseline import Baseline
from anabranch.checkpoint.baseline_file import code_fingerprint, read_baseline, write_baseline
from anabranch.checkpoint.layout import KafkaOffsets, RetainedOffsets
from anabranch.checkpoint.reader import read_logs
from anabranch.errors import AnabranchError, Reason
from anabranch.operations.fence import check_not_fenced
from anabranch.pipeline.definition import Pipeline
from anabranch.pipeline.manifest import definition_of
from anabranch.project.catalog_file import write_definition
from anabranch.project.kafka import admin_of
from anabranch.project.project import CheckpointRef, Project
from anabranch.spark.session import are_partitions_chosen, master_of, shuffle_partitions
from anabranch.storage.files import CheckpointLocation
from anabranch.streaming.sinks import policy_of
from anabranch.streaming.sinks.base import Start
from anabranch.streaming.startable import (
    StartFacts,
    what_changed,
    where_it_starts,
    why_not_retained,
    why_not_these_partitions,
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
    # Where a first start reads each topic from, as Spark takes it.
    starting_offsets: tuple[str, ...]
    # The pipeline as a command names it, with its sink.
    called: str


def check_start(
    project: Project,
    pipeline: Pipeline,
    admin: KafkaAdmin,
    start: Start,
    spark_settings: Mapping[str, str] | None = None,
    count_cores: Callable[[], int] = lambda: 0,
) -> CheckedStart:
    """Refuses if the checkpoint is of something else, Kafka lacks what the next batch needs, or the sink does not fit.

    `count_cores`: those of the cluster; asked only where a refusal has to name them.
    """
    location = project.checkpoint(pipeline)
    # Spark would fail on the fence too, with words that do not mention it.
    check_not_fenced(location.storage(), f"{pipeline.name} cannot start")
    facts = inspect_start(project, pipeline, location, admin, spark_settings)
    begins = _begins(facts, start)
    for refused in _refusals(facts, begins):
        raise refused
    if not are_partitions_chosen(project.settings.spark, spark_settings or {}):
        master = master_of(project.settings.spark, spark_settings or {})
        for refused in why_not_these_partitions(facts, master, count_cores):
            raise refused
    policy = policy_of(pipeline.sink)
    notes = policy.check_continued(facts, admin, begins) if facts.is_first and start == "sink" else []
    before = facts.before if not facts.is_first else None
    write_baseline(location, replace(facts.now, codes={**facts.now.codes, **(before.codes if before else {})}))
    write_definition(location, replace(definition_of(pipeline), sink=pipeline.sink.identity(str(project.directory))))
    said = (where_it_starts(facts, start), *what_changed(facts), *notes)
    starts = tuple(_as_spark_takes_it(topic, begins) if start == "sink" else start for topic in pipeline.topic_names)
    return CheckedStart(said, starts, facts.called)


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
    return Outlook(facts.retained or {}, refusals)


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
    before_ids = before.topics if before else {}
    now = Baseline(
        query_id=checkpoint.query_id,
        cluster_id=admin.cluster_id() if admin else None,
        topics={topic: admin.topic_id(topic) if admin else before_ids.get(topic, "") for topic in pipeline.topic_names},
        sink=pipeline.sink.identity(str(project.directory)),
        table_id=policy_of(pipeline.sink).table_id(pipeline),
        zone=project.settings.timezone,
        window_s=pipeline.window_s,
        slide_s=pipeline.slide_s,
        watermark_s=pipeline.watermark_s,
        shuffle_partitions=shuffle_partitions(project.settings.spark, spark_settings or {}),
        future_tolerance="none" if pipeline.future_tolerance_s is None else format_duration(pipeline.future_tolerance_s),
        skip=pipeline.skip,
        codes={code_fingerprint(_source_of(pipeline)): checkpoint.next_batch},
    )
    return StartFacts(
        pipeline=pipeline,
        path=str(location),
        checkpoint=checkpoint,
        before=before,
        now=now,
        retained={topic: admin.offset_ranges(topic) for topic in pipeline.topic_names} if admin else None,
        called=pipeline.name + ("" if project.is_own_sink(pipeline) else f" --to {quote(str(now.sink))}"),
        set_aside=project.set_aside_command(pipeline, location),
    )


def run_fingerprint(pipeline: Pipeline, zone: str) -> str:
    """What a batch's results follow from besides its records: code, topics, windows, and the settings that judge records."""
    topics = tuple(replace(topic, place=None, lake=None) for topic in pipeline.topics)
    durations_s = (pipeline.window_s, pipeline.slide_s, pipeline.watermark_s, pipeline.future_tolerance_s)
    # 3600 and 3600.0 are the same hour.
    judged = ([None if one is None else float(one) for one in durations_s], tuple(sorted(pipeline.skip)), zone)
    return sha256(repr((code_fingerprint(_source_of(pipeline)), topics, judged)).encode()).hexdigest()[:16]


def _source_of(pipeline: Pipeline) -> bytes:
    """What its results follow from, beside our own code: a user's file as it was read, a file of ours as it is."""
    if pipeline.takes_problems:
        return repr(replace(pipeline.topic, place=None)).encode()
    if pipeline.source_hash is not None:
        return pipeline.source_hash.encode()
    assert pipeline.place is not None
    return Path(pipeline.place.file).read_bytes()


def _refusals(facts: StartFacts, begins: KafkaOffsets | None) -> Iterator[AnabranchError]:
    source = list(why_not_this_source(facts))
    yield from source
    settings = list(why_not_these_settings(facts))
    yield from settings
    if not source:
        yield from why_not_retained(facts)
    if not settings:
        yield from policy_of(facts.pipeline.sink).why_not_start(facts, begins)


def _begins(facts: StartFacts, start: Start) -> KafkaOffsets | None:
    """The offsets that a first start reads first; None: Kafka is unreachable."""
    if facts.retained is None:
        return None
    is_behind_sink = start == "sink" and facts.is_first
    held = policy_of(facts.pipeline.sink).held_until(facts.pipeline) if is_behind_sink else {}
    return {
        topic: {
            partition: offsets.end if start == "latest" else max(offsets.earliest, held.get(topic, {}).get(partition, 0))
            for partition, offsets in partitions.items()
        }
        for topic, partitions in facts.retained.items()
    }


def _as_spark_takes_it(topic: str, begins: KafkaOffsets | None) -> str:
    assert begins is not None
    return json.dumps({topic: {str(partition): offset for partition, offset in begins[topic].items()}})
