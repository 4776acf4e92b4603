"""The state of each pipeline, seen from outside: from its lease, its checkpoint, its history and Kafka. No Spark.

Robust: what cannot be read of one pipeline is said there, and the others are shown in full. What is not known is None.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from time import time
from typing import Any

from anabranch.checkpoint.figures import Jump, moment_s, rows_per_s
from anabranch.checkpoint.history import newest_first
from anabranch.checkpoint.layout import OffsetRange
from anabranch.checkpoint.messages import FIGURES_LOST, LATE_COUNTED_FROM
from anabranch.checkpoint.restartable import lag_of
from anabranch.errors import AnabranchError, Reason
from anabranch.kafka.admin import KafkaAdmin
from anabranch.kafka.unread import Place, first_timestamps_ms
from anabranch.project.kafka import admin_of
from anabranch.project.project import Project
from anabranch.streaming import messages
from anabranch.streaming.observed import Observed, observe
from anabranch.text.format import format_duration, instant

# How long Kafka may take to send the first unread records: a status is looked at, and asked for again.
_UNREAD_TIMEOUT_S = 1.5


@dataclass(frozen=True)
class PipelineStatus:
    name: str
    sink: str
    # Whether it is where the pipeline's settings send it.
    is_own_sink: bool
    # running, stopped, blocked (it cannot start), never ran; or what else holds it: rewind, undo.
    state: str
    running: str | None
    # None: it never ran; or an operation is not finished, and what the checkpoint holds is half done.
    last_batch: int | None
    last_batch_at: str | None
    # Below 0: the clocks differ.
    age_s: float | None
    unfinished_batch: int | None
    # A rewind or undo that is not finished.
    operation: str | None
    watermark: str | None
    # Topic -> partition; None where it is not known: Kafka is unreachable, or an operation is not finished.
    lag: dict[str, dict[int, int]] | None
    # How long the oldest unread record has been waiting.
    lag_s: float | None
    # Over the last 5 minutes.
    rows_per_s: float | None
    # None: the history is gone, torn, or of another timeline.
    records: int | None
    problems: int | None
    # Dropped by the watermark. None also: it has none.
    late: int | None
    has_watermark: bool
    # Batches that are not in these figures, which are a lower bound then.
    uncounted_batches: int | None
    late_from: int | None
    exact: bool | None
    jump: Jump | None
    checkpoint: str
    # What could not be read, and a history that does not fit.
    trouble: str | None
    # Why it cannot start, and files of ours that cannot be read.
    refusals: tuple[Reason, ...]
    # What to mind.
    notes: tuple[Reason, ...]

    @property
    def is_partial(self) -> bool:
        return bool(self.uncounted_batches)


@dataclass(frozen=True)
class Status:
    kafka: str
    pipelines: list[PipelineStatus]

    @property
    def is_sound(self) -> bool:
        return not any(one.refusals for one in self.pipelines)

    def as_json(self) -> dict[str, Any]:
        return {"kafka": self.kafka, "pipelines": [_as_json(one) for one in self.pipelines]}


def _as_json(one: PipelineStatus) -> dict[str, Any]:
    refusals = [{**reason.as_json(), "remedies": list(reason.remedies)} for reason in one.refusals]
    return {**asdict(one), "refusals": refusals, "notes": [reason.as_json() for reason in one.notes]}


def status_of(project: Project, *, every: bool = False) -> Status:
    """Of the pipelines that have run, for each sink; `every`: also of those that have not."""
    admin, kafka = _connect(project)
    found = [one for pipeline in project.pipelines for one in observe(project, pipeline, admin)]
    shown = [one for one in found if every or one.has_run]
    ranges = _ranges(admin, {topic for one in shown for topic in one.pipeline.topic_names})
    places = {place for one in shown for place in _first_unread(one, ranges)}
    waiting = first_timestamps_ms(admin, places, _UNREAD_TIMEOUT_S) if admin is not None else {}
    return Status(kafka, [_status(one, ranges, waiting, time()) for one in shown])


def _connect(project: Project) -> tuple[KafkaAdmin | None, str]:
    """Kafka may be unreachable: then the rest is shown all the same."""
    try:
        admin = admin_of(project)
        admin.all()
    except AnabranchError as error:
        return None, error.text
    return admin, admin.address


Ranges = Mapping[str, Mapping[int, OffsetRange]]


def _ranges(admin: KafkaAdmin | None, topics: Iterable[str]) -> Ranges:
    """What Kafka retains of each topic; without those of which it is not known."""
    if admin is None:
        return {}
    found = {}
    for topic in sorted(topics):
        try:
            found[topic] = admin.offset_ranges(topic)
        except AnabranchError:
            # It was deleted, or Kafka has gone since: its lag is not known.
            continue
    return found


def _status(one: Observed, ranges: Ranges, waiting: Mapping[Place, int | None], now_s: float) -> PipelineStatus:
    figures, committed = one.figures, one.committed
    at = _last_batch_at(one)
    at_s = moment_s(at) if at is not None else None
    age_s = None if at_s is None else round(now_s - at_s, 3)
    return PipelineStatus(
        name=one.pipeline.name,
        sink=one.location.path.name,
        is_own_sink=one.is_own_sink,
        state=one.state,
        running=one.holder.describe() if one.holder else None,
        last_batch=committed,
        last_batch_at=at,
        age_s=age_s,
        unfinished_batch=one.unfinished_batch,
        operation=one.operation,
        watermark=_watermark(one),
        lag=_lag(one, ranges),
        lag_s=_lag_s(one, ranges, waiting, now_s),
        rows_per_s=_rows_per_s(one, now_s),
        records=figures.records,
        problems=figures.problems,
        late=figures.late,
        has_watermark=one.has_watermark,
        uncounted_batches=figures.uncounted_batches,
        late_from=figures.late_from,
        exact=figures.exact,
        jump=figures.jump,
        checkpoint=str(one.location),
        trouble="; ".join(reason.text for reason in (*one.unreadable, *([one.misfit] if one.misfit else []))) or None,
        refusals=one.refusals,
        notes=tuple(_notes(one, age_s)),
    )


def _last_batch_at(one: Observed) -> str | None:
    """When it started. A batch that ran again is in the history with its last time, in the checkpoint with its first."""
    if one.checkpoint is None or one.committed is None:
        return None
    if one.entry is not None and one.entry.ran is not None and one.entry.batch == one.committed:
        return one.entry.ran.at
    planned = one.checkpoint.offset_entry(one.committed)
    return instant(planned.timestamp_ms) if planned else None


def _watermark(one: Observed) -> str | None:
    commit = one.checkpoint.commit_entry(one.committed) if one.checkpoint and one.committed is not None else None
    return instant(commit.next_watermark_ms) if commit else None


def _rows_per_s(one: Observed, now_s: float) -> float | None:
    if one.entry is None or one.figures.records is None:
        return None
    try:
        found = rows_per_s(newest_first(one.location), now_s)
    except (AnabranchError, OSError):
        # A line before the newest, of a version that this one does not know.
        return None
    return None if found is None else round(found, 1)


def _notes(one: Observed, age_s: float | None) -> Iterator[Reason]:
    if not one.is_declared:
        yield messages.NO_LONGER_DECLARED(pipeline=one.pipeline.name)
    if one.misfit is not None:
        yield one.misfit
    if one.unfinished_batch is not None and one.holder is None:
        yield messages.UNFINISHED_BATCH(batch=one.unfinished_batch)
    if age_s is not None and age_s < 0:
        yield messages.CLOCKS_DIFFER(ahead=format_duration(-age_s))
    figures = one.figures
    if figures.records is not None and figures.uncounted_batches:
        yield FIGURES_LOST(batches=figures.uncounted_batches)
    if figures.late is not None and figures.late_from:
        yield LATE_COUNTED_FROM(batch=figures.late_from)
    if figures.jump is not None:
        yield figures.jump.describe()


def _lag(one: Observed, ranges: Ranges) -> dict[str, dict[int, int]] | None:
    topics, read = one.pipeline.topic_names, one.read
    if not ranges.keys() >= set(topics) or one.checkpoint is None or one.operation is not None:
        return None
    return {
        topic: {partition: lag_of(offsets, read.get(topic, {}).get(partition)) for partition, offsets in ranges[topic].items()}
        for topic in topics
    }


def _first_unread(one: Observed, ranges: Ranges) -> list[Place]:
    """Of each partition that it lags behind. One that never ran waits for nothing."""
    lag = _lag(one, ranges) if one.has_run else None
    return [
        Place(topic, partition, max(ranges[topic][partition].earliest, one.read.get(topic, {}).get(partition, 0)))
        for topic, partitions in (lag or {}).items()
        for partition, count in partitions.items()
        if count > 0
    ]


def _lag_s(one: Observed, ranges: Ranges, waiting: Mapping[Place, int | None], now_s: float) -> float | None:
    places = _first_unread(one, ranges)
    if not one.has_run or _lag(one, ranges) is None or any(place not in waiting for place in places):
        return None
    since = [since_ms for place in places if (since_ms := waiting[place]) is not None]
    return round(now_s - min(since) / 1000, 3) if since else 0.0
