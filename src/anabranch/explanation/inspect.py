"""Reads what became of the records of one window. Changes nothing, starts no Spark.

By what was stored of each record when it came: a record that had a problem then was not counted. No more of the past is read
than the batches that have read records of the window, and those that closed it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from anabranch.audit.inspect import corrections_of, moment
from anabranch.audit.pins import Pinned, check_stands, deepened, pin
from anabranch.audit.summary import closed_by
from anabranch.audit.verdict import ClosedBy
from anabranch.audit.windows import MOST_NAMED, Correction
from anabranch.checkpoint.reader import read_logs
from anabranch.checkpoint.timeline import TimelineBatch
from anabranch.delta.counts import first_offsets, newest_of_partitions, offsets_of, records_of
from anabranch.delta.stored import Newest, StoredRecord
from anabranch.explanation.build import Counts, Seen, explanation_of
from anabranch.explanation.report import CorrectedBy, Explanation, KeyResult
from anabranch.explanation.tally import Group, Tally
from anabranch.pipeline.definition import Pipeline
from anabranch.pipeline.windows import windows_of
from anabranch.project.project import Project
from anabranch.text.format import iso_utc


@dataclass(frozen=True)
class Look:
    """A window of a pipeline at one moment."""

    pipeline: Pipeline
    start_ms: int
    pinned: Pinned
    # Oldest first.
    corrections: list[Correction]

    @property
    def end_ms(self) -> int:
        return self.start_ms + windows_of(self.pipeline).length_ms

    @property
    def times(self) -> tuple[datetime, datetime]:
        return moment(self.start_ms), moment(self.end_ms)


class Records(Protocol):
    """The records of a window that are explained."""

    def offsets(self) -> Iterator[Group]: ...

    def usable_from(self, cutoffs: Mapping[int, int], most: int) -> Iterator[StoredRecord]:
        """The first of them, by partition and offset. `cutoffs`: partition -> the first offset, if not 0."""
        ...


def look_at(project: Project, pipeline: Pipeline, start_ms: int) -> Look:
    """Refuses what `pin` refuses."""
    end_ms = start_ms + windows_of(pipeline).length_ms

    def decides(one: TimelineBatch) -> bool:
        return one.watermark_ms < end_ms

    pinned = pin(project, pipeline, decides)
    corrections = [one for one in corrections_of(project, pipeline) if any(part.holds(start_ms) for part in one.ranges)]
    look = Look(pipeline, start_ms, pinned, corrections)
    first = first_offsets(pinned.lake, pipeline.topic.name, pinned.lake_version, look.times, pinned.begins)

    def has_read_all(one: TimelineBatch) -> bool:
        begins = {partition: begin for partition, (begin, _) in (one.ranges or {}).items()}
        return decides(one) and all(begins.get(partition, 0) <= offset for partition, offset in first.items())

    return Look(pipeline, start_ms, deepened(project, pipeline, pinned, has_read_all), corrections)


@dataclass(frozen=True)
class LakeRecords:
    """All of the window, as the lake's columns tell them."""

    look: Look

    def offsets(self) -> Iterator[Group]:
        pinned, topic = self.look.pinned, self.look.pipeline.topic.name
        return offsets_of(pinned.lake, topic, pinned.lake_version, self.look.times, pinned.begins)

    def usable_from(self, cutoffs: Mapping[int, int], most: int) -> Iterator[StoredRecord]:
        pinned, topic = self.look.pinned, self.look.pipeline.topic.name
        return records_of(pinned.lake, topic, pinned.lake_version, self.look.times, cutoffs, most)


def explain_window(
    project: Project, look: Look, records: Records, key: str | None = None, result: KeyResult | None = None
) -> Explanation:
    """Refuses where a rewind has taken batches back meanwhile."""
    pinned, ran = look.pinned, look.pinned.ran
    delay_ms = round(pinned.delay_s * 1000)
    is_known, cutoffs = ran.timeline.is_known(look.end_ms), ran.timeline.cutoffs(look.end_ms)
    seen = Seen(
        start_ms=look.start_ms,
        timeline=ran.timeline,
        planned_at=ran.planned_at,
        committed_at=ran.committed_at,
        lake_version=pinned.lake_version,
        behind=pinned.behind,
        delay_ms=delay_ms,
        counts=_count(look, records, has_problems=key is None),
        late=[] if cutoffs is None or not is_known else list(records.usable_from(cutoffs, MOST_NAMED)),
        closed_by=_closed_by(look, delay_ms) if is_known else None,
        next_watermark_ms=_next_watermark_ms(project, look),
        newest=_newest(look) if cutoffs is None else [],
        corrections=_corrections(project, look),
        key=key,
        result=result,
    )
    check_stands(project, look.pipeline, pinned)
    return explanation_of(look.pipeline, seen)


def _count(look: Look, records: Records, *, has_problems: bool) -> Counts:
    tally = Tally(look.pinned.ran.timeline, look.corrections[-1].cutoffs if look.corrections else None)
    for group in records.offsets():
        tally.add(group)
    problems = tally.problems if has_problems else None
    return Counts(tally.usable, problems, tally.earlier, tally.earlier_problems, tally.since_correction)


def _closed_by(look: Look, delay_ms: int) -> ClosedBy | None:
    """The record that moved the watermark is of the batch before; the lake has it too, where that batch has not kept it."""
    pinned, timeline, topic = look.pinned, look.pinned.ran.timeline, look.pipeline.topic.name
    found = closed_by(timeline, pinned.ran.newest_events, look.end_ms, delay_ms)
    if found is None or found.record is not None:
        return found
    if (watermark_ms := timeline.watermarks_ms[found.batch - timeline.first]) <= 0:
        # None yet: nothing has closed what is before 1970.
        return None
    event_ms = watermark_ms + delay_ms
    times = (moment(event_ms), moment(event_ms + 1))
    for one in records_of(pinned.lake, topic, pinned.lake_version, times, pinned.begins, MOST_NAMED):
        if timeline.batch_of(one.partition, one.offset) == found.batch - 1:
            return replace(found, record=f"{topic}:{one.partition}:{one.offset}", event_time=iso_utc(event_ms))
    return found


def _newest(look: Look) -> list[Newest]:
    return newest_of_partitions(look.pinned.lake, look.pipeline.topic.name, look.pinned.lake_version)


def _next_watermark_ms(project: Project, look: Look) -> int | None:
    """With which the next batch will run. None: not known."""
    commit = read_logs(project.checkpoint(look.pipeline).storage()).commit_entry(look.pinned.ran.timeline.last)
    return commit.next_watermark_ms if commit else None


def _corrections(project: Project, look: Look) -> list[CorrectedBy]:
    ids = {one.operation for one in look.corrections}
    found = [one for one in project.operations.all() if one.id in ids]
    return [CorrectedBy(one.id, one.kind, iso_utc(one.begun_ms), one.state) for one in found[::-1]]
