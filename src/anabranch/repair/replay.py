"""Records that had a problem when they came, and have none by today's rules: which windows lack them."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.audit.pins import pin
from anabranch.audit.scope import Wanted, windows_in
from anabranch.audit.session import AuditSession
from anabranch.audit.windows import EVER, judgeable
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

    def notes(self, pipeline: Pipeline) -> list[Reason]:
        if not self.closed and not self.open:
            return [messages.NOTHING_TO_REPLAY(topic=pipeline.topic.name)]
        records = sum(self.closed.values())
        notes = [messages.REPLAYED(count=records, windows=len(self.closed), pipeline=pipeline.name)] if self.closed else []
        if self.open:
            count, windows = sum(self.open.values()), windows_of(pipeline)
            closing = iso_utc(max(self.open) + windows.length_ms + round((pipeline.watermark_s or 0) * 1000))
            notes.append(messages.REPLAY_LATER(count=count, are="is" if count == 1 else "are", closing=closing))
        return notes

    def wanted(self, pipeline: Pipeline) -> Wanted:
        """Their windows, for an audit."""
        return windows_in(sorted(self.closed), pipeline)


def find_replayable(project: Project, pipeline: Pipeline, session: AuditSession) -> Replayable:
    from anabranch.audit.results import usable_again
    from anabranch.reprocess.apply import lake_read

    pinned = pin(project, pipeline)
    lake = lake_read(project, pipeline, pinned.lake_version)
    found = session.run("Decoding the records that had a problem", lambda spark: usable_again(spark, pipeline, lake))
    closed = judgeable(EVER, pinned.ran.timeline, windows_of(pipeline)).closed
    in_closed = {start: count for start, count in found.items() if closed is not None and closed.holds(start)}
    later = {start: count for start, count in found.items() if closed is None or start >= closed.end_ms}
    return Replayable(in_closed, later)
