"""Stops a query before the batch that would run under a watermark that has moved too far: that batch drops what comes behind.

The watermark of a batch is in the offset log before the batch runs, so a restart finds the same, and stops again.
"""

from __future__ import annotations

from anabranch.checkpoint.checkpoint import Checkpoint
from anabranch.checkpoint.figures import jump_of
from anabranch.checkpoint.history import HistoryEntry, NewestEvent, WatermarkJump
from anabranch.checkpoint.reader import read_batch
from anabranch.errors import Refused
from anabranch.pipeline.definition import Pipeline
from anabranch.storage.base import Storage
from anabranch.streaming import messages
from anabranch.streaming.lateness import moved_ms
from anabranch.text.format import format_duration, iso_utc


class WatermarkJumpError(Exception):
    """Ends a query in front of its sink."""


class WatermarkGuard:
    """Called with each batch before it enters the sink."""

    def __init__(self, pipeline: Pipeline, storage: Storage, *, allows_first: bool) -> None:
        self._limit_s, self._storage = pipeline.watermark_jump_s, storage
        self._allows_next = allows_first
        # The batch that was stopped, and what its log entries said.
        self.stopped: Checkpoint | None = None
        self.stopped_batch: int | None = None

    def __call__(self, batch: int) -> None:
        if self._limit_s is None:
            return
        is_allowed, self._allows_next = self._allows_next, False
        logs = read_batch(self._storage, batch)
        if not is_allowed and moved_ms(*_watermarks_ms(logs, batch)) > self._limit_s * 1000:
            self.stopped, self.stopped_batch = logs, batch
            raise WatermarkJumpError

    def refusal(self, pipeline: Pipeline, called: str, known: HistoryEntry) -> Refused | None:
        """What the run says of it; None: nothing was stopped. `known` is the newest entry below the batch."""
        if self.stopped is None or self.stopped_batch is None or self._limit_s is None:
            return None
        batch = self.stopped_batch
        before_ms, after_ms = _watermarks_ms(self.stopped, batch)
        moved_by = _moved_by(known, batch - 1)
        jump = WatermarkJump(batch - 1, iso_utc(before_ms), iso_utc(after_ms), moved_by)
        return messages.WATERMARK_JUMP(
            pipeline=pipeline.name,
            called=called,
            batch=batch,
            jump=jump_of(jump).describe(),
            limit=format_duration(self._limit_s),
            target=f"--to-offset {moved_by.record}" if moved_by else f"--to-batch {batch - 1}",
            record=moved_by.record if moved_by else "TOPIC:PARTITION:OFFSET",
        )


def _watermarks_ms(logs: Checkpoint, batch: int) -> tuple[int, int]:
    before, now = logs.offset_entry(batch - 1), logs.offset_entry(batch)
    return before.watermark_ms if before else 0, now.watermark_ms if now else 0


def _moved_by(known: HistoryEntry, batch: int) -> NewestEvent | None:
    """The record that the batch's entry names; of an operation that came after it, what that has kept of the jump."""
    if known.ran is not None and known.ran.batch == batch:
        return known.ran.newest_event
    return known.jump.moved_by if known.jump is not None and known.jump.batch == batch else None
