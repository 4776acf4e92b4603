"""An audit as a value: what was looked at, what was found. Pure; it is kept as it is, and shown by explain.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from anabranch.audit.judge import Class
from anabranch.audit.windows import LateRecord
from anabranch.errors import Reason
from anabranch.reprocess.plan import Range
from anabranch.text.format import iso_utc


@dataclass(frozen=True)
class Pins:
    """What an audit looked at. Two audits of the same pins say the same."""

    lake: str
    lake_id: str
    lake_version: int
    # Partition -> the offset behind the last record that the lake held of these windows.
    lake_ends: Mapping[int, int]
    # Of the topic of results: partition -> the half-open range of offsets; empty for a table.
    results: Mapping[int, tuple[int, int]]
    # None: the results are on a topic.
    table_version: int | None
    # The oldest batch that was needed, and the newest.
    first_batch: int
    last_batch: int
    # Batches whose records were not in the lake yet.
    behind: int
    watermark: str | None
    # How much was written of the history of the stream's batches: what is behind it came later.
    history_bytes: int
    # A fingerprint of what results follow from besides their records, as of BatchRecord.
    code: str
    # None: the results are in a table.
    source_topic_id: str | None
    result_topic_id: str | None
    stream_id: str


@dataclass(frozen=True)
class Found:
    """One result that is wrong; with --all also one that is right."""

    start: str
    end: str
    key: str
    # Of the window's records in the lake, not of the key's.
    in_lake: int
    counted: int
    late: int
    problems: int
    emitted: str | None
    should_be: str | None
    # `class` in JSON.
    verdict: Class
    # The operation that sent what is emitted.
    operation: str | None

    def as_json(self) -> dict[str, Any]:
        numbers = {name: getattr(self, name) for name in ("in_lake", "counted", "late", "problems")}
        about = {"emitted": self.emitted, "should_be": self.should_be, "class": self.verdict, "operation": self.operation}
        return {"window": {"start": self.start, "end": self.end}, "key": self.key, **numbers, **about}


@dataclass(frozen=True)
class Verdict:
    # Those that were judged: closed, and known.
    windows: int
    equal: int
    wrong: int
    # Not judged: they are not closed.
    open: int
    # Not judged: they closed before the oldest batch that is known.
    unknown: int
    # Class -> results.
    results: Mapping[str, int]
    # Usable records of the windows that were judged, and those of them that no result counts.
    usable: int
    not_counted: int

    @property
    def completeness(self) -> float | None:
        """None: there are no records."""
        return None if self.usable == 0 else (self.usable - self.not_counted) / self.usable

    @property
    def is_clean(self) -> bool:
        return self.wrong == 0


@dataclass(frozen=True)
class Balance:
    """Of the records in the lake that belong to the windows that were judged, and of those that have no time."""

    in_lake: int
    # By the stream.
    counted: int
    late: int
    problems: int

    @property
    def remainder(self) -> int:
        return self.in_lake - self.counted - self.late - self.problems


@dataclass(frozen=True)
class Concentration:
    """A value that more of the late records have than of all."""

    # `partition`, or a field.
    field: str
    value: str
    late: int
    of_late: int
    # Of all records of the windows that have late ones.
    share_of_all: float

    @property
    def factor(self) -> float:
        return self.late / self.of_late / self.share_of_all


@dataclass(frozen=True)
class ClosedBy:
    """How a window closed: the first batch whose watermark had reached its end, and the record that moved it there."""

    window_end: str
    batch: int
    watermark: str
    # TOPIC:PARTITION:OFFSET and its event time. None: not known.
    record: str | None
    event_time: str | None


@dataclass(frozen=True)
class Late:
    count: int
    # Of them the stream has not read these yet: it will drop them.
    unread: int
    # How much later than their window's end the watermark was.
    least_ms: int
    median_ms: int
    most_ms: int
    by_partition: Mapping[int, int]
    concentrated: tuple[Concentration, ...]
    # Of the first window that is wrong by late records.
    closed_by: ClosedBy | None
    # The first of them, by partition and offset.
    records: tuple[LateRecord, ...]


@dataclass(frozen=True)
class Audit:
    id: str
    at: str
    pipeline: str
    # As `--to` names it.
    sink: str
    # What was asked for; None: all that is known.
    asked: Range | None
    # The audit that it follows: only what came since was judged, and what was wrong. None: all that was asked for.
    since: str | None
    # The windows that begin in these were judged.
    ranges: tuple[Range, ...]
    # From the first window that was judged to the end of the last. None: there are none.
    span: Range | None
    pins: Pins
    verdict: Verdict
    balance: Balance
    late: Late | None
    # The wrong ones, the first by window and key; with --all all. All wrong ones are in the file beside it.
    found: tuple[Found, ...]
    notes: tuple[Reason, ...]

    @property
    def wrong_results(self) -> int:
        return sum(count for name, count in self.verdict.results.items() if name not in ("equal", "corrected"))

    def as_json(self) -> dict[str, Any]:
        """Without its id and time: two audits of the same pins are the same bytes."""
        pins = asdict(self.pins)
        pinned = {
            "lake_version": pins["lake_version"],
            "topic_offsets": {str(partition): end for partition, (_, end) in sorted(self.pins.results.items())},
            "table_version": pins["table_version"],
            "batches": [self.pins.first_batch, self.pins.last_batch],
            "code": pins["code"],
            "watermark": pins["watermark"],
        }
        return {
            "pipeline": self.pipeline,
            "range": None if self.span is None else {"start": iso_utc(self.span.start_ms), "end": iso_utc(self.span.end_ms)},
            "since": self.since,
            "pinned": pinned,
            "verdict": {**_sorted(asdict(self.verdict)), "completeness": self.verdict.completeness},
            "windows": [one.as_json() for one in self.found],
            "balance": {**asdict(self.balance), "remainder": self.balance.remainder},
            "late": None if self.late is None else _late_json(self.late),
            "notes": [one.as_json() for one in self.notes],
        }


def _sorted(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: dict(sorted(value.items())) if isinstance(value, Mapping) else value for name, value in fields.items()}


def _late_json(late: Late) -> dict[str, Any]:
    fields = asdict(late)
    by_partition = {str(partition): count for partition, count in sorted(late.by_partition.items())}
    concentrated = [{**asdict(one), "factor": round(one.factor, 2)} for one in late.concentrated]
    records = [_record_json(one) for one in late.records]
    return {**fields, "by_partition": by_partition, "concentrated": concentrated, "records": records}


def _record_json(one: LateRecord) -> dict[str, Any]:
    times = {
        "event_time": one.event_ms,
        "arrived": one.arrived_ms,
        "window_end": one.window_end_ms,
        "watermark": one.watermark_ms,
    }
    about = {"partition": one.partition, "offset": one.offset, "batch": one.batch, "was_read": one.was_read}
    needed = {"late_by_ms": one.late_by_ms, "needed_delay_ms": one.needed_delay_ms}
    return {**about, **{name: iso_utc(moment_ms) for name, moment_ms in times.items()}, **needed}
