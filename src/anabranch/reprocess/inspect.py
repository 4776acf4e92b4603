"""Reads what a reprocess depends on: the stream, the lake, and the topic of its results. Changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from anabranch.checkpoint.checkpoint import Checkpoint
from anabranch.checkpoint.history import newest_entry
from anabranch.checkpoint.layout import OffsetRange
from anabranch.checkpoint.reader import read_logs
from anabranch.delta.held import held_offsets, may_have_lost_rows, missing_offsets
from anabranch.delta.lake import open_lake, records_within
from anabranch.kafka.admin import KafkaAdmin
from anabranch.kafka.records import has_record, read_records
from anabranch.operations.fence import check_not_fenced
from anabranch.pipeline.definition import Pipeline
from anabranch.pipeline.sinks import Results
from anabranch.pipeline.windows import windows_of
from anabranch.project.kafka import admin_of
from anabranch.project.lake import lake_path, path_of
from anabranch.project.project import Project
from anabranch.reprocess import messages
from anabranch.reprocess.completeness import Gap, LakeProof, Loss, check_complete, gaps_of, inside, outside, still_to_prove
from anabranch.reprocess.plan import Range, ReprocessPlan, StreamState, check_closed, is_of, times_of, whole_windows
from anabranch.reprocess.staleness import InputSnapshot, LaterResult
from anabranch.storage.files import Format
from anabranch.streaming.result_headers import OPERATION, ORIGIN

PROOF = Format("lake-proof", 1, LakeProof)
# More gaps than this are not looked at one by one: Kafka is asked about each.
_MOST_GAPS = 1000


def check_range(project: Project, pipeline: Pipeline, asked: Range) -> tuple[Range, int]:
    """The whole windows of what was asked for, and the version of the lake that was proven to have every record of theirs.

    Refuses what may not be recomputed now. Starts no Spark.
    """
    wanted = whole_windows(asked, windows_of(pipeline))
    for one in (pipeline, filling_of(project, pipeline)):
        check_not_fenced(project.checkpoint(one).storage(), f"{pipeline.name} cannot be recomputed")
    state = stream_state(project, pipeline)
    check_closed(pipeline, wanted, state)
    return wanted, check_lake(project, pipeline, read_by(project, pipeline, pipeline.topic.name))


def filling_of(project: Project, pipeline: Pipeline) -> Pipeline:
    """What fills the lake that the windows are recomputed from."""
    lake = project.lake_for(pipeline)
    if lake is None:
        raise messages.TOPIC_WITHOUT_LAKE(pipeline=pipeline.name, topic=pipeline.topic.name)
    return lake


def lake_behind(project: Project, pipeline: Pipeline) -> Path:
    return lake_path(filling_of(project, pipeline))


def check_lake(project: Project, pipeline: Pipeline, read: Mapping[int, tuple[int, int]]) -> int:
    """Every offset that the stream has read, from its own first one, is in the lake. The version for which that holds.

    `read`: partition -> from where to where.
    """
    filling, topic = filling_of(project, pipeline), pipeline.topic.name
    lake, proof_file = lake_path(filling), project.home / _proof_name(filling)
    table = open_lake(lake)
    table_id, version = str(table.metadata().id), table.version()
    wanted = still_to_prove(read, _proven(proof_file, lake, table_id, topic, version))
    held = held_offsets(lake, topic, wanted, version)
    gaps = [
        gap
        for partition, (first, end) in wanted.items()
        if (held[partition].count if partition in held else 0) < end - first
        for gap in gaps_of(partition, missing_offsets(lake, topic, partition, first, end, version, _MOST_GAPS), end, _MOST_GAPS)
    ]
    if gaps:
        unknown = list(outside(gaps, _own_ranges_without_loss(project, filling, topic, version)))
        losses = list(_losses(admin_of(project), topic, unknown))
        # Rows that were deleted from its end will not come again: its query has read them.
        read_by_lake = read_by(project, filling, topic)
        ends = [(partition, end) for partition, (_, end) in read_by_lake.items()]
        ends += [(partition, one.end) for partition, one in held.items()]
        check_complete(pipeline.name, filling.name, losses, dict(sorted(ends)))
    PROOF.write(proof_file, LakeProof(table_id, version, topic, read))
    return version


def _proven(file: Path, lake: Path, table_id: str, topic: str, version: int) -> Mapping[int, tuple[int, int]]:
    """What an earlier look has proven, if nothing was deleted from the lake since."""
    proof = PROOF.read(file)
    if proof is None or (proof.table_id, proof.topic) != (table_id, topic) or proof.version > version:
        return {}
    return {} if may_have_lost_rows(lake, proof.version, version) else proof.complete


def read_by(project: Project, pipeline: Pipeline, topic: str) -> dict[int, tuple[int, int]]:
    """What a pipeline's query has read."""
    return _read_by(read_logs(project.checkpoint(pipeline).storage()), topic)


def _read_by(logs: Checkpoint, topic: str) -> dict[int, tuple[int, int]]:
    """A partition that came later is read from its first record."""
    begins = logs.start_of(0).get(topic, {})
    ends = logs.end_of(logs.commits.newest).get(topic, {})
    return {partition: (begins.get(partition, 0), end) for partition, end in sorted(ends.items())}


def _proof_name(filling: Pipeline) -> str:
    """One for each lake."""
    return f"lake-proof-{filling.name}.json"


def _own_ranges_without_loss(project: Project, filling: Pipeline, topic: str, version: int) -> dict[int, tuple[int, int]]:
    """What the lake's own query has read, if the table holds as many records of it as the query has counted: no loss."""
    location = project.checkpoint(filling)
    logs, entry = read_logs(location.storage()), newest_entry(location)
    own = _read_by(logs, topic)
    if entry is None or entry.uncounted or not entry.is_exact or entry.batch != logs.commits.newest:
        return {}
    held = held_offsets(path_of(filling), topic, own, version)
    return own if sum(one.count for one in held.values()) == entry.total_records else {}


def _losses(admin: KafkaAdmin, topic: str, gaps: Sequence[Gap]) -> Iterator[Loss]:
    """The gaps that Kafka has records in, and those that it no longer retains."""
    if not gaps:
        return
    retained = {partition: (held.earliest, held.end) for partition, held in admin.offset_ranges(topic).items()}
    yield from (Loss(gap, is_retained=False) for gap in outside(gaps, retained))
    for gap in inside(gaps, retained):
        if has_record(admin, topic, gap.partition, OffsetRange(gap.first, gap.end)):
            yield Loss(gap, is_retained=True)


def stream_state(project: Project, pipeline: Pipeline) -> StreamState:
    stream = read_logs(project.checkpoint(pipeline).storage())
    committed = stream.commits.newest
    entry, commit = (None, None) if committed is None else (stream.offset_entry(committed), stream.commit_entry(committed))
    return StreamState(
        watermark_ms=entry.watermark_ms if entry else None,
        next_watermark_ms=commit.next_watermark_ms if commit else None,
    )


def take_snapshot(
    project: Project, pipeline: Pipeline, wanted: Sequence[Range], admin: KafkaAdmin, lake_version: int | None = None
) -> InputSnapshot:
    """As it is now; the lake as it was at `lake_version`, if that is given."""
    assert isinstance(pipeline.sink, Results)
    results, times = pipeline.sink.name, [times_of(one, windows_of(pipeline)) for one in wanted]
    moments = [(_moment(one.start_ms), _moment(one.end_ms)) for one in times]
    lake_id, records = records_within(lake_behind(project, pipeline), pipeline.topic.name, moments, lake_version)
    return InputSnapshot(
        source_topic_id=admin.topic_id(pipeline.topic.name),
        result_topic_id=admin.topic_id(results),
        results={partition: (held.earliest, held.end) for partition, held in admin.offset_ranges(results).items()},
        stream_id=str(read_logs(project.checkpoint(pipeline).storage()).query_id),
        lake_id=lake_id,
        records=records,
    )


def _moment(moment_ms: int) -> datetime:
    return datetime.fromtimestamp(moment_ms / 1000, UTC)


def later_results(admin: KafkaAdmin, plan: ReprocessPlan, now: InputSnapshot) -> Iterator[LaterResult]:
    """What has come to the topic since the plan read it, for its windows: only that is read."""
    since = {
        partition: OffsetRange(max(earliest, plan.inputs.results.get(partition, (0, 0))[1]), end)
        for partition, (earliest, end) in now.results.items()
    }
    for record in read_records(admin, plan.topic, within=since):
        if record.key is not None and is_of(record.key_text, plan.ranges):
            yield LaterResult(record.key_text, record.header(ORIGIN) or "elsewhere", record.header(OPERATION))
