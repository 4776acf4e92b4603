"""What is told of one window: the command prints it, and `--json` has these fields. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from anabranch.audit.verdict import ClosedBy
from anabranch.errors import Reason

# `unknown`: it closed before the oldest batch that is known.
State = Literal["open", "closed", "unknown"]


@dataclass(frozen=True)
class BatchShare:
    """What one batch has read of a window."""

    batch: int
    planned_at: str | None
    # None: it was not kept.
    committed_at: str | None
    # None: it is not known which of them were late.
    counted: int | None
    late: int | None
    # None: with a key; a record with a problem has none.
    problems: int | None


@dataclass(frozen=True)
class DroppedRecord:
    """A record that came too late for the window."""

    # TOPIC:PARTITION:OFFSET.
    record: str
    event_time: str
    # Kafka's own time of it.
    arrived: str
    # How much later than the window's end the watermark was.
    late_by_s: float
    # The shortest delay with which it would have been counted, all else being the same.
    needed_delay_s: float
    # None: the stream has not read it yet.
    batch: int | None
    watermark: str


@dataclass(frozen=True)
class PartitionNews:
    """How far one partition has come, by the lake."""

    partition: int
    # The greatest event time of its usable records. None: it has none.
    newest_event: str | None
    # When its newest record came. None: it has none.
    newest_arrival: str | None
    # From then to the newest arrival in any partition. None: it has no record.
    silent_s: float | None
    # Whether its records have not come to the window's end yet: more of the window's may come from it.
    is_behind: bool


@dataclass(frozen=True)
class Waits:
    """What an open window waits for: a usable record of this time or later, in any partition."""

    event_time: str
    # A batch has read such a record: the next batch closes the window.
    is_due: bool
    # Partitions of which the lake has such a record that the stream has yet to read.
    unread_in: tuple[int, ...]
    partitions: tuple[PartitionNews, ...]


@dataclass(frozen=True)
class CorrectedBy:
    """An operation that has sent results of the window, or begun to."""

    operation: str
    kind: str
    begun_at: str
    # As `anabranch operations` has it.
    state: str


@dataclass(frozen=True)
class Emitted:
    """A result that the topic holds."""

    # TOPIC:PARTITION:OFFSET.
    record: str
    at: str
    value: str
    # As the record's headers say: `stream`, `reprocess` or `repair`; the batch or the operation. None: they do not.
    origin: str | None
    batch: str | None
    operation: str | None


@dataclass(frozen=True)
class KeyResult:
    """The result of one key, by the pipeline's function today. None: it gives no result."""

    # By all usable records.
    should_be: str | None
    # By those that were counted. None also: it is not known which these are.
    counted: str | None
    # Oldest first; the newest of them, if there are many.
    emitted: tuple[Emitted, ...]


@dataclass(frozen=True)
class Explanation:
    pipeline: str
    # When the window begins and ends.
    start: str
    end: str
    # Of the result whose records alone are shown. None: all are.
    key: str | None
    state: State
    # `append`: a window's result is emitted when it has closed; `update`: as it changes.
    output_mode: str
    # Of the newest batch, as it ran. None: none yet.
    watermark: str | None
    # The watermark delay, as the pipeline last started with it.
    delay_s: float
    # The version of the lake that was read.
    lake_version: int
    # The oldest and the newest batch that were looked at.
    first_batch: int
    last_batch: int
    # Batches behind the newest, whose records the lake does not have yet.
    behind: int
    # Records of the window in the lake. The numbers below are parts of it.
    usable: int
    # With a time of the window, and a problem. None: with a key.
    problems: int | None
    # By the stream. None: not known.
    counted: int | None
    # Dropped by the watermark, or yet to be dropped. None: not known.
    late: int | None
    # Usable ones that the stream has not read yet.
    unread: int
    # Usable ones that batches before the first one here have read.
    earlier: int
    batches: tuple[BatchShare, ...]
    # The first of the late ones, by partition and offset.
    late_records: tuple[DroppedRecord, ...]
    # None: the window is open, or it is not known.
    closed_by: ClosedBy | None
    # When that batch was committed; if that was not kept, when it was planned.
    closed_at: str | None
    # None: the window is not open.
    waits: Waits | None
    # Oldest first.
    corrections: tuple[CorrectedBy, ...]
    # Usable records that came after the newest of these had read the lake. None: there is none.
    since_correction: int | None
    # None: no key was asked for.
    result: KeyResult | None
    notes: tuple[Reason, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "notes": [one.as_json() for one in self.notes]}
