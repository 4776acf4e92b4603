"""Makes the plan of a repair: its results are those that the audit has kept. Starts no Spark; sends nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from anabranch.audit.inspect import moment
from anabranch.audit.messages import OTHER_CODE_SINCE
from anabranch.audit.ranges import covering
from anabranch.audit.store import audits_of
from anabranch.audit.verdict import Audit
from anabranch.delta.lake import files_within, open_lake, records_within
from anabranch.delta.messages import TABLE_UNREADABLE
from anabranch.errors import Failed
from anabranch.pipeline.definition import Pipeline
from anabranch.pipeline.sinks import Table
from anabranch.pipeline.windows import windows_of
from anabranch.project.project import Project
from anabranch.repair import messages
from anabranch.repair.plan import Repairable, changes_of
from anabranch.reprocess.plan import Change, Compared, Range, ReprocessPlan, hours_of, times_of
from anabranch.reprocess.results_file import write_results
from anabranch.reprocess.staleness import InputSnapshot
from anabranch.reprocess.tally import Tally
from anabranch.streaming.preflight import run_fingerprint
from anabranch.text.format import utc_ms


def repairable(pipeline: Pipeline) -> Pipeline:
    """Refuses one whose results a record more would not correct."""
    if isinstance(pipeline.sink, Table):
        raise messages.TABLE_NOT_REPAIRED(pipeline=pipeline.name, table=pipeline.sink.path)
    return pipeline


def plan_repair(
    project: Project, pipeline: Pipeline, audit: Audit, only: Iterable[Repairable], operation: str
) -> ReprocessPlan | None:
    """Its results are in the operation's file from here on. None: nothing of these classes is wrong."""
    if run_fingerprint(pipeline, project.settings.timezone) != audit.pins.code:
        raise messages.AUDIT_OUTDATED(pipeline=pipeline.name, audit=audit.id, why=OTHER_CODE_SINCE())
    log, tally, starts, classes = audits_of(project, pipeline), Tally(), set[int](), tuple(only)
    wrong = log.wrong_windows(audit)
    if wrong is None:
        raise messages.FOUND_DAMAGED(path=str(log.found_path(audit.id)), audit=audit.id, pipeline=pipeline.name)

    def changes() -> Iterator[Change]:
        for start, change in changes_of(log.found(audit.id), classes):
            start_ms = utc_ms(start)
            starts.add(start_ms)
            tally.take(Compared(change.key, start_ms, change.before, change.after))
            yield change

    write_results(project.operations.results_file(operation), changes())
    return _plan(pipeline, audit, sorted(starts), tally, operation) if starts else None


def _plan(pipeline: Pipeline, audit: Audit, starts: list[int], tally: Tally, operation: str) -> ReprocessPlan:
    windows, pins = windows_of(pipeline), audit.pins
    ranges = tuple(covering(starts, windows.slide_ms))
    whole = Range(ranges[0].start_ms, ranges[-1].end_ms)
    times = [times_of(one, windows) for one in ranges]
    moments = [(moment(one.start_ms), moment(one.end_ms)) for one in times]
    with _lake_of_then(pipeline, audit) as path:
        _, records = records_within(path, pipeline.topic.name, moments, pins.lake_version)
        lake = files_within(path, *hours_of(times_of(whole, windows)), pins.lake_version)
    return ReprocessPlan(
        operation=operation,
        pipeline=pipeline.name,
        topic=audit.sink.partition(":")[2],
        asked=whole,
        range=whole,
        ranges=ranges,
        windows=len(starts),
        lake=pins.lake,
        lake_version=pins.lake_version,
        files=lake.files,
        rows=lake.rows,
        results=tally.results,
        changed=tally.changed,
        changes=tally.changes,
        unexpected_results=0,
        unexpected=(),
        inputs=InputSnapshot(
            source_topic_id=str(pins.source_topic_id),
            result_topic_id=str(pins.result_topic_id),
            results=pins.results,
            stream_id=pins.stream_id,
            lake_id=pins.lake_id,
            records=records,
        ),
        audit=audit.id,
    )


@contextmanager
def _lake_of_then(pipeline: Pipeline, audit: Audit) -> Iterator[Path]:
    """What replaced the files of an earlier version may have removed them: that is no damage."""
    path, version = Path(audit.pins.lake), audit.pins.lake_version
    try:
        yield path
    except Failed as error:
        if error.reason.code != TABLE_UNREADABLE.code or open_lake(path).version() == version:
            raise
        why = messages.LAKE_OF_THEN_GONE(version=version)
        raise messages.AUDIT_OUTDATED(pipeline=pipeline.name, audit=audit.id, why=why) from None
