"""Makes an audit: the results that are wrong go to a file beside it, one by one as Spark finds them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from anabranch.audit import messages
from anabranch.audit.concentration import FEWEST, candidates, concentrations
from anabranch.audit.inspect import bins_within
from anabranch.audit.look import Look, bounds
from anabranch.audit.pins import check_stands
from anabranch.audit.store import audits_of, new_audit_id
from anabranch.audit.summary import balance_of, closed_by, has_moved, late_of, partition_shares, verdict_of
from anabranch.audit.tally import Tally
from anabranch.audit.verdict import Audit, Balance, Late, Pins
from anabranch.audit.windows import windows_of_bin
from anabranch.delta.stored import BinCount
from anabranch.errors import Reason
from anabranch.pipeline.sinks import Results, Table
from anabranch.pipeline.windows import windows_of
from anabranch.project.kafka import cluster_of
from anabranch.project.project import Project
from anabranch.reprocess.inspect import filling_of
from anabranch.streaming.preflight import run_fingerprint
from anabranch.text.format import instant, iso_utc

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from anabranch.audit.results import Asked, Decoded
    from anabranch.reprocess.recompute import WindowCutoff

# So many late records are looked at to see what they have in common; and so many are kept.
_MOST_COMPARED, _MOST_KEPT = 500, 100


def make_audit(project: Project, look: Look, spark: Callable[[], SparkSession], phase: Callable[[str], None]) -> Audit:
    """Keeps it. Where no window is to be judged Spark is not started."""
    from anabranch.audit.results import Decoded

    log, audit_id, decoded = audits_of(project, look.pipeline), new_audit_id(), Decoded()
    tally = Tally(
        windows_of(look.pipeline),
        look.counts.windows,
        late={start for start, one in look.judged.items() if one.late},
        outdated=look.outdated.keys(),
        tolerance=look.pipeline.float_tolerance,
    )
    asked = _asked(project, look, spark, phase) if look.ranges else None
    try:
        log.write_found(audit_id, _found(spark, asked, tally, decoded, phase) if asked else ())
        stored = _stored(look) if look.ranges else []
        balance = balance_of(stored, look.late.count, decoded.records, decoded.problems, decoded.elsewhere)
        if asked is not None:
            _check_lake_read(project, look, stored, balance, decoded)
        check_stands(project, look.pipeline, look.pinned)
        audit = Audit(
            id=audit_id,
            at=iso_utc(round(datetime.now(UTC).timestamp() * 1000)),
            pipeline=look.pipeline.name,
            sink=look.pipeline.sink.describe(),
            asked=look.wanted.asked,
            since=look.scope.since,
            ranges=look.ranges,
            span=bounds(look.ranges, {**look.judged, **tally.classes}, windows_of(look.pipeline)),
            pins=_pins(project, look),
            verdict=verdict_of(tally, look.judged, look.late, balance.counted + balance.late, look.open, look.unknown),
            balance=balance,
            late=_late(look, tally, asked, decoded),
            found=tuple(tally.named),
            notes=tuple(_notes(project, look, stored, decoded)),
        )
        log.record(audit)
    except BaseException:
        log.drop(audit_id)
        raise
    return audit


def _found(
    spark: Callable[[], SparkSession], asked: Asked, tally: Tally, decoded: Decoded, phase: Callable[[str], None]
) -> Iterator[dict[str, Any]]:
    from anabranch.audit.results import judged_rows

    phase("comparing the results")
    for row in judged_rows(spark(), asked, decoded):
        if row.start_ms is None:
            continue
        if row.compared is None:
            tally.take_equal(row.start_ms, row.results, is_corrected=row.is_corrected)
        elif (found := tally.take(row.compared, every=asked.every)) is not None:
            yield found.as_json()


def _asked(project: Project, look: Look, spark: Callable[[], SparkSession], phase: Callable[[str], None]) -> Asked:
    from dataclasses import replace

    from anabranch.audit.results import Asked, TableRead, fields_of
    from anabranch.reprocess.apply import lake_read
    from anabranch.reprocess.recompute import TopicRead

    sink, timeline, windows = look.pipeline.sink, look.pinned.ran.timeline, windows_of(look.pipeline)
    emitted = (
        TableRead(sink.path, look.target.table_version or 0)
        if isinstance(sink, Table)
        else TopicRead(_topic(sink), look.pipeline.name, look.target.offsets, cluster_of(project).for_java)
    )
    late = {start: timeline.cutoffs(start + windows.length_ms) or {} for start, one in look.judged.items() if one.late}
    asked = Asked(
        pipeline=look.pipeline,
        ranges=look.ranges,
        lake=lake_read(project, look.pipeline, look.pinned.lake_version),
        emitted=emitted,
        begins=look.pinned.begins,
        late=_cutoffs(look, late),
        outdated=_cutoffs(look, {start: one.cutoffs for start, one in look.outdated.items()}),
        every=look.wanted.every,
    )
    if look.late.count < FEWEST:
        return asked
    phase("looking at the late records")
    return replace(asked, candidates=candidates(fields_of(spark(), asked, look.late.named[:_MOST_COMPARED])))


def _topic(sink: object) -> str:
    assert isinstance(sink, Results)
    return sink.name


def _cutoffs(look: Look, cutoffs: Any) -> list[WindowCutoff]:
    """Of every partition that has records: without one, none of its records are below a cutoff."""
    from anabranch.reprocess.recompute import WindowCutoff

    length_ms = windows_of(look.pipeline).length_ms
    return [
        WindowCutoff(start + length_ms, partition, of_window.get(partition, 0))
        for start, of_window in sorted(cutoffs.items())
        for partition in sorted(look.counts.windows[start].last)
    ]


def _stored(look: Look) -> list[BinCount]:
    """The records that were to be decoded: of the judged windows, and without a time."""
    within = bins_within(look.counts.bins, look.ranges, windows_of(look.pipeline))
    return [*within, *(one for one in look.counts.bins if one.bin is None)]


def _check_lake_read(project: Project, look: Look, stored: Sequence[BinCount], balance: Balance, decoded: Decoded) -> None:
    """Refuses where Spark has not found what the lake's own columns tell."""
    if balance.remainder or has_moved(stored, decoded.problems, decoded.elsewhere, decoded.check):
        raise messages.LAKE_DIFFERS(
            pipeline=look.pipeline.name,
            topic=look.pipeline.topic.name,
            lake=filling_of(project, look.pipeline).name,
            in_lake=sum(one.usable + one.problems for one in stored),
            counted=balance.counted,
            late=balance.late,
            problems=balance.problems,
        )


def _late(look: Look, tally: Tally, asked: Asked | None, decoded: Decoded) -> Late | None:
    if look.late.count == 0 or asked is None:
        return None
    windows = windows_of(look.pipeline)
    late_starts = {start for start, one in look.judged.items() if one.late}
    bins = [
        one for one in look.counts.bins if one.bin is not None and not late_starts.isdisjoint(windows_of_bin(one.bin, windows))
    ]
    shares = partition_shares(look.late, bins)
    shares += [(one, having, decoded.of_late_windows) for one, having in zip(asked.candidates, decoded.having, strict=True)]
    ran, delay_ms = look.pinned.ran, round(look.pinned.delay_s * 1000)
    first = next(iter(tally.wrong_by_late), None)
    closing = None if first is None else closed_by(ran.timeline, ran.newest_events, first + windows.length_ms, delay_ms)
    return late_of(look.late, concentrations(shares), closing, _MOST_KEPT)


def _pins(project: Project, look: Look) -> Pins:
    pinned, timeline = look.pinned, look.pinned.ran.timeline
    return Pins(
        lake=pinned.lake,
        lake_id=pinned.lake_id,
        lake_version=pinned.lake_version,
        lake_ends=dict(sorted(look.lake_ends.items())),
        results=dict(sorted(look.target.offsets.items())),
        table_version=look.target.table_version,
        first_batch=timeline.first,
        last_batch=timeline.last,
        behind=pinned.behind,
        watermark=instant(timeline.watermark_ms),
        history_bytes=pinned.history_bytes,
        code=run_fingerprint(look.pipeline, project.settings.timezone),
        source_topic_id=look.scope.source_topic_id,
        result_topic_id=look.target.topic_id,
        stream_id=str(pinned.ran.query_id),
    )


def _notes(project: Project, look: Look, stored: Sequence[BinCount], decoded: Decoded) -> Iterator[Reason]:
    yield from look.scope.notes
    if look.pinned.behind:
        yield messages.LAKE_IS_BEHIND(batches=look.pinned.behind)
    problems = sum(one.problems for one in stored)
    if look.ranges and problems != decoded.problems:
        yield messages.RULES_CHANGED(stored=problems, now=decoded.problems, topic=look.pipeline.topic.name)
    for partition, (first, _) in sorted(look.target.offsets.items()):
        if first:
            yield messages.MAY_HAVE_EXPIRED(partition=partition, first=first, topic=_topic(look.pipeline.sink))
    if decoded.in_several:
        yield messages.IN_SEVERAL_PARTITIONS(results=decoded.in_several, topic=_topic(look.pipeline.sink))
    timeline, code = look.pinned.ran.timeline, run_fingerprint(look.pipeline, project.settings.timezone)
    batches = range(timeline.first, timeline.last + 1)
    if other := sum(look.pinned.ran.codes.get(batch, code) != code for batch in batches):
        yield messages.RAN_OTHER_CODE(batches=other)
