"""What is reported of the delays that records needed: the command prints it, and `--json` has these fields. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from anabranch.lateness.curve import DelayRow
from anabranch.lateness.reach import Basis


@dataclass(frozen=True)
class Lateness:
    # The pipeline.
    pipeline: str
    # When the first window that is asked for begins. None: no first one was named.
    start: str | None
    # When the first window begins behind those that are asked for. None: no last one was named.
    end: str | None
    # The version of the lake that was read.
    lake_version: int
    # The first of the batches of which it is known what they read and dropped.
    first_batch: int
    # The newest of those whose records the lake has all.
    last_batch: int
    # Batches of the stream behind the last one, whose records the lake does not have yet.
    behind: int
    # Today's watermark delay, as the pipeline last started with it.
    delay_s: float
    # What it was told from how far event times had come: `events`, the newest event of each batch; or `watermarks`, where these
    # are not all known: right as long as the delay was never another.
    basis: Basis
    # `append`: a window's result is emitted when it has closed; `update`: as it changes.
    output_mode: str
    # Usable records of these times that the batches read.
    records: int
    # Windows that have such a record.
    windows: int
    # Usable records of these times that the stream has read, in batches before the first: they are not in the figures.
    left_out: int
    # Records that were really dropped, by the watermarks as they ran.
    dropped: int
    # By delay; see below.
    delays: tuple[DelayRow, ...]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)
