"""What the files of a pipeline's checkpoint say of it: its lease, its logs, its history. One that cannot be read is named."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from anabranch.checkpoint.baseline_file import read_baseline
from anabranch.checkpoint.checkpoint import Checkpoint
from anabranch.checkpoint.figures import UNKNOWN, Figures, figures_of, judge_history, lost_behind, newest_ended
from anabranch.checkpoint.history import EMPTY, HistoryEntry, newest_entry
from anabranch.checkpoint.layout import KafkaOffsets
from anabranch.checkpoint.reader import read_logs
from anabranch.errors import AnabranchError, Reason
from anabranch.kafka.admin import KafkaAdmin
from anabranch.operations.fence import under_way
from anabranch.pipeline.definition import Pipeline
from anabranch.project.project import Project
from anabranch.storage.base import Storage
from anabranch.storage.files import CheckpointLocation
from anabranch.storage.lease import Holder, holder_of
from anabranch.streaming import messages
from anabranch.streaming.preflight import why_not_startable

T = TypeVar("T")


@dataclass(frozen=True)
class Observed:
    """A pair of pipeline and sink."""

    pipeline: Pipeline
    location: CheckpointLocation
    is_own_sink: bool
    # False: it is known only from what is kept beside its checkpoint.
    is_declared: bool
    holder: Holder | None
    # None: it cannot be read.
    checkpoint: Checkpoint | None
    # A rewind or undo that is not finished.
    operation: str | None
    # The newest of its history.
    entry: HistoryEntry | None
    figures: Figures
    # Why the figures of its history are not known, although it can be read.
    misfit: Reason | None
    # What cannot be read.
    unreadable: tuple[Reason, ...]
    # The same, and why it cannot start.
    refusals: tuple[Reason, ...]

    @property
    def has_run(self) -> bool:
        newest = self.checkpoint.newest if self.checkpoint else None
        return self.holder is not None or newest is not None or self.entry is not None or bool(self.refusals)

    @property
    def state(self) -> str:
        if self.holder is not None:
            return "running" if self.holder.purpose == "run" else self.holder.purpose
        return "blocked" if self.refusals else "stopped" if self.has_run else "never ran"

    @property
    def committed(self) -> int | None:
        """None also: an operation is not finished, and what the checkpoint holds is half done."""
        return self.checkpoint.commits.newest if self.checkpoint and self.operation is None else None

    @property
    def unfinished_batch(self) -> int | None:
        checkpoint = self.checkpoint
        if checkpoint is None or self.operation is not None or checkpoint.newest is None:
            return None
        return checkpoint.newest if checkpoint.newest not in checkpoint.commits else None

    @property
    def read(self) -> KafkaOffsets:
        """Up to where it has read its topics."""
        return {} if self.checkpoint is None else self.checkpoint.start_of(self.checkpoint.next_batch)

    @property
    def has_watermark(self) -> bool:
        return self.pipeline.watermark_s is not None


def observe(project: Project, pipeline: Pipeline, admin: KafkaAdmin | None) -> Iterator[Observed]:
    """For each sink that it was ever sent to. `admin`: without it, what needs Kafka is not judged."""
    own = project.pipeline(pipeline)
    for number, location in enumerate(project.checkpoints(pipeline)):
        yield _observe(project, own, location, admin, is_own_sink=number == 0)


def _observe(
    project: Project, pipeline: Pipeline, location: CheckpointLocation, admin: KafkaAdmin | None, *, is_own_sink: bool
) -> Observed:
    refused: list[AnabranchError] = []
    storage = location.storage()
    holder = _attempt(lambda: holder_of(location), location, refused)
    # Before the checkpoint: so a batch that ends in between does not make the history look ahead of it.
    history_before = len(refused)
    entry = _attempt(lambda: newest_entry(location), location, refused)
    has_history = len(refused) == history_before
    checkpoint = _attempt(lambda: read_logs(storage), location, refused)
    operation = _operation(checkpoint, storage) if checkpoint else None
    unreadable = tuple(error.reason for error in refused)
    if checkpoint is not None and holder is None and checkpoint.newest is not None:
        refused += _attempt(lambda: _why_not_startable(project, pipeline, location, admin), location, refused) or []
    figures, misfit = UNKNOWN, None
    if checkpoint is not None and has_history:
        ended = newest_ended(checkpoint, entry)
        figures, misfit = _figures(pipeline, location, entry, ended, is_running=holder is not None)
    return Observed(
        pipeline=pipeline,
        location=location,
        is_own_sink=is_own_sink,
        is_declared=project.is_declared(pipeline),
        holder=holder,
        checkpoint=checkpoint,
        operation=operation,
        entry=entry,
        figures=figures,
        misfit=misfit,
        unreadable=unreadable,
        refusals=tuple({error.text: error.reason for error in refused}.values()),
    )


def _figures(
    pipeline: Pipeline, location: CheckpointLocation, entry: HistoryEntry | None, ended: int | None, *, is_running: bool
) -> tuple[Figures, Reason | None]:
    if (misfit := judge_history(entry, ended, str(location.history))) is not None:
        return UNKNOWN, misfit
    newest = entry or EMPTY
    lost = lost_behind(newest, ended, is_running=is_running)
    return figures_of(newest, drops_late=pipeline.watermark_s is not None, lost=lost), None


def _attempt(read: Callable[[], T], location: CheckpointLocation, refused: list[AnabranchError]) -> T | None:
    """What was read; None, and why it could not be."""
    try:
        return read()
    except AnabranchError as error:
        refused.append(error)
    except OSError as error:
        refused.append(messages.NOT_READABLE(path=str(error.filename or location), reason=error.strerror))
    return None


def _operation(checkpoint: Checkpoint, storage: Storage) -> str | None:
    if checkpoint.fence is None:
        return None
    try:
        return under_way(storage, "its status is unknown") or "an operation without a journal"
    except AnabranchError:
        return "an operation whose journal cannot be read"


def _why_not_startable(
    project: Project, pipeline: Pipeline, location: CheckpointLocation, admin: KafkaAdmin | None
) -> list[AnabranchError]:
    sent = as_sent(project, pipeline, location)
    return [] if sent is None else why_not_startable(project, sent, location, admin)


def as_sent(project: Project, pipeline: Pipeline, location: CheckpointLocation) -> Pipeline | None:
    """As a run would send it there; None: no run would, the checkpoint was set aside or the sink's name is not known."""
    if project.checkpoint(pipeline) == location:
        return pipeline
    baseline = read_baseline(location)
    kind, dash, target = location.path.name.partition("-")
    to = baseline.sink if baseline is not None and baseline.sink is not None else f"{kind}{dash and ':'}{target}"
    try:
        sent = project.sent_to(pipeline, to)
    except AnabranchError:
        return None
    return sent if project.checkpoint(sent) == location else None
