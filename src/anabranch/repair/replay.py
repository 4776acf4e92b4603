"""Records that had a problem when they came, and have none by today's rules: which windows lack them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from anabranch.audit.pins import pin
from anabranch.audit.scope import Wanted, windows_in
from anabranch.audit.session import AuditSession
from anabranch.checkpoint.timeline import Timeline
from anabranch.errors import Reason
from anabranch.pipeline.definition import Pipeline
from anabranch.pipeline.windows import windows_of
from anabranch.project.project import Project
from anabranch.repair import messages
from anabranch.text.format import iso_utc


@dataclass(frozen=True)
class Replayable:
    """When a window begins -> its records that have no problem any more. One in several windows counts in each."""

    closed: dict[int, int]
    open: dict[int, int]
    # Closed before the oldest batch that is known: an audit does not judge them.
    unknown: dict[int, int]

    def notes(self, pipeline: Pipeline) -> list[Reason]:
        return list(self._notes(pipeline)) or [messages.NOTHING_TO_REPLAY(topic=pipeline.topic.name)]

    def _notes(self, pipeline: Pipeline) -> Iterator[Reason]:
        length_ms = windows_of(pipeline).length_ms
        if self.closed:
            yield messages.REPLAYED(**_counted(self.closed), windows=len(self.closed), pipeline=pipeline.name)
        if self.open:
            closing = iso_utc(max(self.open) + length_ms + round((pipeline.watermark_s or 0) * 1000))
            yield messages.REPLAY_LATER(**_counted(self.open), closing=closing)
        if self.unknown:
            start, end = iso_utc(min(self.unknown)), iso_utc(max(self.unknown) + length_ms)
            yield messages.REPLAY_UNKNOWN(**_counted(self.unknown), pipeline=pipeline.name, start=start, end=end)

    def wanted(self, pipeline: Pipeline) -> Wanted:
        """Their windows, for an audit."""
        return windows_in(sorted(self.closed), pipeline)


def _counted(windows: Mapping[int, int]) -> dict[str, Any]:
    count = sum(windows.values())
    return {"count": count, "are": "is" if count == 1 else "are"}


def find_replayable(project: Project, pipeline: Pipeline, session: AuditSession) -> Replayable:
    from anabranch.audit.results import usable_again
    from anabranch.reprocess.apply import lake_read

    pinned = pin(project, pipeline)
    lake = lake_read(project, pipeline, pinned.lake_version)
    begins = pinned.begins
    found = session.run("Decoding the records that had a problem", lambda spark: usable_again(spark, pipeline, lake, begins))
    return sorted_out(found, pinned.ran.timeline, windows_of(pipeline).length_ms)


def sorted_out(found: Mapping[int, int], timeline: Timeline, length_ms: int) -> Replayable:
    is_open = {start: not timeline.is_closed(start + length_ms) for start in found}
    unknown = {start for start in found if not is_open[start] and not timeline.is_known(start + length_ms)}
    return Replayable(
        closed={start: count for start, count in found.items() if not is_open[start] and start not in unknown},
        open={start: count for start, count in found.items() if is_open[start]},
        unknown={start: count for start, count in found.items() if start in unknown},
    )
