"""The first half of an audit: which windows are judged, and what the stream did with their records. Starts no Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from anabranch.audit.inspect import LakeCounts, Target, corrections_of, count_lake, count_late
from anabranch.audit.pins import Pinned
from anabranch.audit.ranges import holds
from anabranch.audit.scope import Scope, Wanted, later, scope_of
from anabranch.audit.windows import Correction, LateTally, WindowCount, judgeable, outdated, unjudged
from anabranch.pipeline.definition import Pipeline
from anabranch.pipeline.windows import Windows, windows_of
from anabranch.project.project import Project
from anabranch.reprocess.plan import Range


@dataclass(frozen=True)
class Look:
    pipeline: Pipeline
    wanted: Wanted
    scope: Scope
    counts: LakeCounts
    # The windows that begin in these are judged.
    ranges: tuple[Range, ...]
    open: int
    unknown: int
    late: LateTally
    # Window -> the operation that sent its results before records came that it does not know.
    outdated: Mapping[int, Correction]
    # Partition -> the offset behind the last record of the lake that this audit, or one before it, has looked at.
    lake_ends: Mapping[int, int]

    @property
    def pinned(self) -> Pinned:
        return self.scope.pinned

    @property
    def target(self) -> Target:
        return self.scope.target

    @property
    def judged(self) -> dict[int, WindowCount]:
        return {start: one for start, one in self.counts.windows.items() if holds(self.ranges, start)}


def look_at(project: Project, pipeline: Pipeline, wanted: Wanted) -> Look:
    scope, windows = scope_of(project, pipeline, wanted), windows_of(pipeline)
    pinned, timeline = scope.pinned, scope.pinned.ran.timeline
    counts = count_lake(pipeline, pinned, scope.ranges)
    closed = (judgeable(one, timeline, windows).closed for one in scope.ranges)
    ranges = tuple(one for one in closed if one is not None)
    judged = {start: one for start, one in counts.windows.items() if holds(ranges, start)}
    open_windows, unknown = unjudged(counts.windows, judged, timeline, windows)
    corrected = outdated(corrections_of(project, pipeline), judged)
    return Look(
        pipeline=pipeline,
        wanted=wanted,
        scope=scope,
        counts=counts,
        ranges=ranges,
        open=open_windows,
        unknown=unknown,
        late=count_late(pipeline, pinned, counts, ranges, corrected),
        outdated=corrected,
        lake_ends=later(scope.lake_ends, counts),
    )


def bounds(ranges: Sequence[Range], judged: Mapping[int, object], windows: Windows) -> Range | None:
    """From where the first window begins that was judged, to where the last one ends. None: no window has a record."""
    starts = [start for start in judged if holds(ranges, start)]
    return Range(min(starts), max(starts) + windows.length_ms) if starts else None
