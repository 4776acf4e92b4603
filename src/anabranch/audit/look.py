"""The first half of an audit: which windows are judged, and what the stream did with their records. Starts no Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from anabranch.audit.inspect import LakeCounts, Target, corrections_of, count_lake, count_late, read_target
from anabranch.audit.pins import Pinned, deepened, pin
from anabranch.audit.ranges import covering, holds
from anabranch.audit.verdict import Audit
from anabranch.audit.windows import EVER, Correction, LateTally, WindowCount, judgeable, outdated
from anabranch.checkpoint.ran import Enough
from anabranch.pipeline.definition import Pipeline
from anabranch.pipeline.windows import Windows, windows_of
from anabranch.project.kafka import admin_of
from anabranch.project.project import Project
from anabranch.reprocess.plan import Range, whole_windows


@dataclass(frozen=True)
class Wanted:
    """What an audit is asked for: all that is known, unless it is less."""

    range: Range | None = None
    # Only what that audit has not seen: windows that have closed since, and those that have got records since.
    since: Audit | None = None
    # Exactly the windows that begin in these.
    ranges: tuple[Range, ...] = ()
    # Results that are right are listed too.
    every: bool = False


@dataclass(frozen=True)
class Look:
    pipeline: Pipeline
    wanted: Wanted
    pinned: Pinned
    target: Target
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
    def judged(self) -> dict[int, WindowCount]:
        return {start: one for start, one in self.counts.windows.items() if holds(self.ranges, start)}


def look_at(project: Project, pipeline: Pipeline, wanted: Wanted) -> Look:
    windows = windows_of(pipeline)
    if wanted.since is not None:
        pinned, asked, ends = _since(project, pipeline, wanted.since, windows)
    else:
        asked = [whole_windows(wanted.range, windows)] if wanted.range else list(wanted.ranges) or [EVER]
        pinned, ends = pin(project, pipeline, _back_to(asked[0].start_ms + windows.length_ms)), {}
    target = read_target(pipeline, admin_of(project))
    counts = count_lake(pipeline, pinned, asked)
    scopes = [judgeable(one, pinned.ran.timeline, windows) for one in asked]
    ranges = tuple(scope.closed for scope in scopes if scope.closed is not None)
    floor_ms = pinned.ran.timeline.floor_ms
    unknown = 0 if floor_ms is None else sum(start + windows.length_ms <= floor_ms for start in counts.windows)
    look = Look(
        pipeline=pipeline,
        wanted=wanted,
        pinned=pinned,
        target=target,
        counts=counts,
        ranges=ranges,
        open=0,
        unknown=unknown,
        late=count_late(pipeline, pinned, counts, ranges),
        outdated={},
        lake_ends=_later(ends, counts),
    )
    judged = look.judged
    corrections = outdated(corrections_of(project, pipeline), judged)
    return replace(look, open=len(counts.windows) - len(judged) - unknown, outdated=corrections)


def _since(project: Project, pipeline: Pipeline, last: Audit, windows: Windows) -> tuple[Pinned, list[Range], dict[int, int]]:
    """The pins, the ranges, and how far the lake was looked at. Only what came since is read, however old the pipeline is."""
    seen_until_ms = max((one.end_ms for one in last.ranges), default=EVER.start_ms)
    pinned = pin(project, pipeline, _back_to(seen_until_ms + windows.length_ms))
    came = count_lake(pipeline, pinned, [EVER], {**pinned.begins, **last.pins.lake_ends})
    touched = sorted(start for start in came.windows if start < seen_until_ms)
    if touched:
        pinned = deepened(project, pipeline, pinned, _back_to(touched[0] + windows.length_ms))
    asked = [*covering(touched, windows.slide_ms), Range(seen_until_ms, EVER.end_ms)]
    return pinned, asked, _later(last.pins.lake_ends, came)


def _back_to(window_end_ms: int) -> Enough:
    """As far as it takes to tell which records of a window were late that ends then."""
    return lambda one: one.watermark_ms < window_end_ms


def _later(ends: Mapping[int, int], counts: LakeCounts) -> dict[int, int]:
    found = dict(ends)
    for one in counts.bins:
        if one.last is not None:
            found[one.partition] = max(found.get(one.partition, 0), one.last + 1)
    return found


def bounds(ranges: Sequence[Range], judged: Mapping[int, object], windows: Windows) -> Range | None:
    """From where the first window begins that was judged, to where the last one ends. None: no window has a record."""
    starts = [start for start in judged if holds(ranges, start)]
    return Range(min(starts), max(starts) + windows.length_ms) if starts else None
