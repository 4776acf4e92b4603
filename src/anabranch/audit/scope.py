"""What an audit looks at: its pins, the results, and the windows that it may judge. Changes nothing, starts no Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from anabranch.audit import messages
from anabranch.audit.follow import Inputs, Seen, changes_since, seen_until_ms
from anabranch.audit.inspect import LakeCounts, Target, count_lake, read_target
from anabranch.audit.pins import Pinned, deepened, pin, was_rewound
from anabranch.audit.ranges import covering
from anabranch.audit.windows import EVER
from anabranch.checkpoint.ran import Enough
from anabranch.errors import Reason
from anabranch.pipeline.definition import Pipeline
from anabranch.pipeline.windows import Windows, windows_of
from anabranch.project.kafka import admin_of
from anabranch.project.project import Project
from anabranch.reprocess.plan import Range, whole_windows
from anabranch.streaming.preflight import run_fingerprint


@dataclass(frozen=True)
class Wanted:
    """What an audit is asked for: all that is known, unless it is less."""

    range: Range | None = None
    # Only what that audit has not seen, and what was wrong then.
    since: Seen | None = None
    # Exactly the windows that begin in these.
    ranges: tuple[Range, ...] = ()
    # Results that are right are listed too.
    every: bool = False

    @property
    def asked(self) -> Range | None:
        """None: all that is known."""
        return Range(self.ranges[0].start_ms, self.ranges[-1].end_ms) if self.ranges else self.range


def windows_in(starts: Sequence[int], pipeline: Pipeline) -> Wanted:
    """These windows, and as few others as it takes. `starts`: in order."""
    return Wanted(ranges=tuple(covering(starts, windows_of(pipeline).slide_ms)))


@dataclass(frozen=True)
class Scope:
    pinned: Pinned
    target: Target
    source_topic_id: str | None
    # In which the windows begin that are judged, as far as they are closed.
    ranges: list[Range]
    # Partition -> the offset behind the last record of the lake that was looked at before, or on the way.
    lake_ends: dict[int, int]
    # The audit that it follows.
    since: str | None
    notes: tuple[Reason, ...] = ()


def scope_of(project: Project, pipeline: Pipeline, wanted: Wanted) -> Scope:
    windows, seen = windows_of(pipeline), wanted.since
    ranges = [whole_windows(wanted.range, windows)] if wanted.range else list(wanted.ranges) or [EVER]
    first_ms = ranges[0].start_ms if seen is None else seen_until_ms(seen.audit.pins, windows)
    pinned = pin(project, pipeline, _back_to(first_ms + windows.length_ms))
    target, admin = read_target(pipeline, admin_of(project)), admin_of(project)
    source_topic_id = None if target.topic_id is None else admin.topic_id(pipeline.topic.name)
    whole = Scope(pinned, target, source_topic_id, ranges, lake_ends={}, since=None)
    if seen is None:
        return whole
    why = list(changes_since(seen.audit.pins, _inputs(project, pipeline, whole, seen.audit.pins.history_bytes)))
    if not why:
        return _following(project, pipeline, whole, seen, windows)
    pinned = deepened(project, pipeline, pinned, _back_to(EVER.start_ms))
    return replace(whole, pinned=pinned, notes=(messages.JUDGED_AGAIN(audit=seen.audit.id, why=why),))


def _inputs(project: Project, pipeline: Pipeline, scope: Scope, history_bytes: int) -> Inputs:
    return Inputs(
        code=run_fingerprint(pipeline, project.settings.timezone),
        stream_id=str(scope.pinned.ran.query_id),
        lake_id=scope.pinned.lake_id,
        source_topic_id=scope.source_topic_id,
        result_topic_id=scope.target.topic_id,
        partitions=len(scope.target.offsets),
        was_rewound=was_rewound(project, pipeline, history_bytes),
    )


def _following(project: Project, pipeline: Pipeline, whole: Scope, seen: Seen, windows: Windows) -> Scope:
    """Only what came since is read, however old the pipeline is."""
    pinned, last = whole.pinned, seen.audit
    until_ms = seen_until_ms(last.pins, windows)
    came = count_lake(pipeline, pinned, [EVER], {**pinned.begins, **last.pins.lake_ends})
    again = sorted(start for start in {*came.windows, *seen.wrong} if start < until_ms)
    if again:
        pinned = deepened(project, pipeline, pinned, _back_to(again[0] + windows.length_ms))
    ranges = [*covering(again, windows.slide_ms), Range(until_ms, EVER.end_ms)]
    return replace(whole, pinned=pinned, ranges=ranges, lake_ends=later(last.pins.lake_ends, came), since=last.id)


def _back_to(window_end_ms: int) -> Enough:
    """As far as it takes to tell which records of a window were late that ends then."""
    return lambda one: one.watermark_ms < window_end_ms


def later(ends: Mapping[int, int], counts: LakeCounts) -> dict[int, int]:
    """Partition -> the offset behind the last record, by what was known and by what was counted."""
    found = dict(ends)
    for one in counts.bins:
        if one.last is not None:
            found[one.partition] = max(found.get(one.partition, 0), one.last + 1)
    return found
