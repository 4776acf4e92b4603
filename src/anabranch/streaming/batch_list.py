"""The batches of a pipeline in the last hour, or another period, from the history beside its checkpoint."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from time import time
from typing import Any

from anabranch.checkpoint.figures import (
    Jump,
    counting,
    judge_history,
    jump_of,
    lost_behind,
    moment_s,
    newest_ended,
    period_since,
)
from anabranch.checkpoint.history import (
    EMPTY,
    BatchRecord,
    HistoryEntry,
    lines_newest_first,
    newest_entry,
    newest_first,
)
from anabranch.checkpoint.reader import read_logs
from anabranch.errors import Reason
from anabranch.operations.log import begun
from anabranch.pipeline.definition import Pipeline
from anabranch.project.project import Project
from anabranch.storage.files import CheckpointLocation
from anabranch.storage.lease import holder_of
from anabranch.streaming import messages
from anabranch.streaming.observed import as_sent
from anabranch.text.format import iso_utc, parse_duration_s


@dataclass(frozen=True)
class Ran:
    """A batch that counts."""

    record: BatchRecord
    # If it moved the watermark further than usual.
    jump: Jump | None

    def as_json(self) -> dict[str, Any]:
        return {"kind": "batch", **asdict(self.record), "jump": asdict(self.jump) if self.jump else None}


@dataclass(frozen=True)
class Lost:
    """Batches that count and left no line."""

    first: int
    last: int

    def as_json(self) -> dict[str, Any]:
        return {"kind": "lost", **asdict(self)}


@dataclass(frozen=True)
class Operated:
    """A rewind, or what takes one back: from here on the batches from this one on do not count, or count again."""

    operation: str
    at: str | None
    undoes: str | None
    next_batch: int

    def as_json(self) -> dict[str, Any]:
        return {"kind": "operation", **asdict(self)}


Line = Ran | Lost | Operated


@dataclass(frozen=True)
class Totals:
    """Of a period. None: not known."""

    batches: int
    records: int | None
    problems: int | None
    # None also: the pipeline has no watermark.
    late: int | None
    # Batches that are not in these figures, which are a lower bound then.
    uncounted_batches: int
    # Those of which only the late records are not known.
    late_uncounted_batches: int
    exact: bool


@dataclass(frozen=True)
class BatchList:
    name: str
    sink: str
    checkpoint: str
    since: str
    until: str
    has_watermark: bool
    # Oldest first.
    lines: list[Line]
    totals: Totals
    # Lines that a crash has torn: what they held is not known.
    torn_lines: int
    # The newest batch of all, also before the period.
    newest: BatchRecord | None

    def as_json(self) -> dict[str, Any]:
        about = {name: value for name, value in vars(self).items() if name not in ("lines", "totals", "newest")}
        newest = asdict(self.newest) if self.newest else None
        return {**about, "lines": [line.as_json() for line in self.lines], "totals": asdict(self.totals), "newest": newest}

    @property
    def jumps(self) -> list[Reason]:
        return [line.jump.describe() for line in self.lines if isinstance(line, Ran) and line.jump is not None]


def parse_period_s(last: str) -> float:
    period_s = parse_duration_s(last)
    if period_s <= 0:
        raise messages.PERIOD_EMPTY(last=last)
    return period_s


def batch_list_of(project: Project, name: str, to: str | None, period_s: float) -> BatchList:
    """Refuses where there is no history, or where it is of another timeline."""
    own = project.find([name], to)[0]
    pipeline = project.sent_to(own, to)
    location = project.checkpoint(pipeline)
    holder = holder_of(location)
    # Before the checkpoint: so a batch that ends in between does not make the history look ahead of it.
    newest = newest_entry(location)
    checkpoint = read_logs(location.storage())
    if newest is None and checkpoint.newest is None:
        raise _never_ran(project, own, pipeline, to)
    ended = newest_ended(checkpoint, newest)
    if (misfit := judge_history(newest, ended, str(location.history))) is not None:
        raise messages.HISTORY_GONE(pipeline=name, why=misfit)
    lost = lost_behind(newest or EMPTY, ended, is_running=holder is not None)
    return _list(pipeline, location, (newest or EMPTY).batch, lost, period_s)


def _never_ran(project: Project, own: Pipeline, pipeline: Pipeline, to: str | None) -> Exception:
    sent = [as_sent(project, own, location) for location in project.checkpoints(own) if newest_entry(location) is not None]
    directory = str(project.directory)
    others = [f"anabranch history {own.name} --to {one.sink.identity(directory)}" for one in sent if one is not None]
    return messages.NEVER_RAN_THERE(
        pipeline=own.name, sink=pipeline.sink.identity(directory), to=f" --to {to}" if to else "", others=others
    )


def _list(pipeline: Pipeline, location: CheckpointLocation, newest: int, lost_behind: int, period_s: float) -> BatchList:
    until_s = time()
    # Before 1970 there was no batch.
    since_s = max(0.0, until_s - period_s)
    period = period_since(lines_newest_first(location), since_s, _begun_s)
    gaps = {lost.stop: Lost(lost.start, lost.stop - 1) for lost in period.lost}
    lines: list[Line] = []
    for entry in period.entries:
        if entry.ran is not None and entry.batch in gaps:
            lines.append(gaps[entry.batch])
        lines.append(_line(entry))
    if lost_behind:
        lines.append(Lost(newest + 1, newest + lost_behind))
    batches = [entry.ran for entry in period.batches if entry.ran is not None]
    first_s = moment_s(batches[0].at) if batches and not period.is_whole else None
    return BatchList(
        name=pipeline.name,
        sink=location.path.name,
        checkpoint=str(location),
        since=iso_utc(round((since_s if first_s is None else max(since_s, first_s)) * 1000)),
        until=iso_utc(round(until_s * 1000)),
        has_watermark=pipeline.watermark_s is not None,
        lines=lines,
        totals=total_of(lines, has_watermark=pipeline.watermark_s is not None),
        torn_lines=period.torn_lines,
        newest=batches[-1] if batches else _newest_batch(location),
    )


def _newest_batch(location: CheckpointLocation) -> BatchRecord | None:
    return next((entry.ran for entry in counting(newest_first(location)) if entry.ran is not None), None)


def _line(entry: HistoryEntry) -> Line:
    if entry.ran is not None:
        return Ran(entry.ran, jump_of(entry.jump) if entry.jump is not None and entry.jump.batch == entry.batch else None)
    operation = entry.operation or ""
    at_s = _begun_s(operation)
    return Operated(operation, None if at_s is None else iso_utc(round(at_s * 1000)), entry.undoes, entry.batch + 1)


def _begun_s(operation: str) -> float | None:
    at = begun(operation)
    return None if at is None else at.timestamp()


def total_of(lines: list[Line], *, has_watermark: bool) -> Totals:
    records = [line.record for line in lines if isinstance(line, Ran)]
    counted = [record for record in records if record.is_counted]
    late = [record.late for record in counted if record.late is not None]
    lost = sum(line.last - line.first + 1 for line in lines if isinstance(line, Lost))
    uncounted = lost + len(records) - len(counted)
    is_known = bool(counted) or not uncounted
    return Totals(
        batches=len(records) + lost,
        records=sum(record.records or 0 for record in counted) if is_known else None,
        problems=sum(record.problems or 0 for record in counted) if is_known else None,
        late=sum(late) if has_watermark and is_known and (late or not counted) else None,
        uncounted_batches=uncounted,
        late_uncounted_batches=len(counted) - len(late) if has_watermark else 0,
        exact=all(record.is_exact for record in counted),
    )
