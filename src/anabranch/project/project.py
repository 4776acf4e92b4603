"""A project is a directory: `anabranch.toml`, and `.anabranch/` with everything that the commands keep there.

It knows which pipeline, which checkpoint and which Kafka a command means: the Kafka in its settings, or its own embedded
broker, which is found by itself. Kafka's client takes a tenth of a second to load, so that is done where Kafka is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from anabranch.checkpoint.baseline_file import read_baseline
from anabranch.checkpoint.messages import ONE_CHECKPOINT
from anabranch.errors import Reason
from anabranch.kafka.properties import PROBE, for_java, for_python
from anabranch.operations.log import OperationLog
from anabranch.pipeline.catalog import LAKE, PIPELINES
from anabranch.pipeline.definition import Pipeline, Sink, Table, Topic, find_pipeline, find_pipelines
from anabranch.pipeline.messages import WINDOW_NOT_SETTABLE
from anabranch.project import messages
from anabranch.project.settings import LoadedSettings, PipelineSettings, Settings, load_settings
from anabranch.storage.files import HOME, CheckpointLocation, Format

if TYPE_CHECKING:
    # A UI imports no adapter: it has these names from here.
    from anabranch.kafka.admin import KafkaAdmin as KafkaAdmin
    from anabranch.kafka.records import GroupProducer as GroupProducer
    from anabranch.kafka.records import Received as Received


@dataclass(frozen=True)
class ProjectMark:
    """Which version wrote the project last."""

    version: str


PROJECT = Format("project", 1, ProjectMark)


@dataclass(frozen=True)
class Project:
    directory: Path
    loaded: LoadedSettings

    @property
    def settings(self) -> Settings:
        return self.loaded.settings

    @cached_property
    def home(self) -> Path:
        return self.directory / HOME

    @property
    def broker_dir(self) -> Path:
        return self.home / "broker"

    @property
    def log_dir(self) -> Path:
        return self.home / "logs"

    @property
    def mark(self) -> Path:
        return self.home / "project.json"

    @property
    def operations(self) -> OperationLog:
        return OperationLog(self.home / "operations")

    @property
    def ivy_settings(self) -> Path | None:
        named = self.settings.jars.ivy_settings
        return self.directory / named if named else None

    @property
    def lake(self) -> Path:
        sink = self.pipeline(LAKE).sink
        assert isinstance(sink, Table)
        return Path(sink.path)

    def pipeline(self, defaults: Pipeline) -> Pipeline:
        """The pipeline as this project's settings change it."""
        own = self._of(defaults)
        for name, what, setting, default in (
            ("window", "window", own.window, defaults.window_s),
            ("watermark", "watermark", own.watermark, defaults.watermark_s),
            ("watermark_jump", "watermark", own.watermark_jump, defaults.watermark_s),
        ):
            if setting is not None and default is None:
                raise WINDOW_NOT_SETTABLE(pipeline=defaults.name, what=what, setting=f"pipelines.{defaults.name}.{name}")
        sink: Sink = Topic(own.topics.sink) if own.topics.sink else Table(own.table) if own.table else defaults.sink
        defaults.check_sink(sink)
        return defaults.changed(
            source_topic=own.topics.source,
            sink=self.placed(sink),
            result_topic=own.topics.sink,
            trigger_s=own.trigger,
            max_offsets=own.max_offsets,
            future_tolerance_s=own.future_tolerance,
            skip=self._skipped(own, own.topics.source or defaults.source_topic),
            window_s=own.window,
            watermark_s=own.watermark,
            watermark_jump_s=own.watermark_jump,
        )

    def _skipped(self, own: PipelineSettings, topic: str) -> tuple[str, ...]:
        """A record of another topic would be skipped nowhere, without a word."""
        for record in own.skip:
            if record.rpartition(":")[0].rpartition(":")[0] != topic:
                raise messages.SKIP_OF_OTHER_TOPIC(record=record, topic=topic)
        return own.skip

    def sent_to(self, pipeline: Pipeline, to: str | None) -> Pipeline:
        """The pipeline as `--to` sends it."""
        return pipeline.changed(sink=self.placed(pipeline.sent_to(to)))

    def placed(self, sink: Sink | None) -> Sink | None:
        return sink.placed(str(self.directory)) if sink is not None else None

    def checkpoint(self, pipeline: Pipeline) -> CheckpointLocation:
        own = self._of(pipeline).checkpoint
        base = self.directory / own if own else self.home / "checkpoints" / pipeline.name
        named = base / pipeline.sink.directory_name(str(self.directory))
        if isinstance(pipeline.sink, Table) and not named.exists():
            legacy = CheckpointLocation(base / pipeline.sink.legacy_directory_name(str(self.directory)))
            if legacy.path.exists() and self._is_of(legacy, pipeline.sink):
                return legacy
        return CheckpointLocation(named)

    def _is_of(self, legacy: CheckpointLocation, sink: Sink) -> bool:
        """A checkpoint of 0.2.0 stays where it is. Of which sink it is, it did not write down: a start asks the table."""
        baseline = read_baseline(legacy)
        return baseline is not None and baseline.sink in (None, sink.identity(str(self.directory)))

    def is_own_sink(self, pipeline: Pipeline) -> bool:
        """Whether it is sent to where its settings send it, so that no `--to` is needed."""
        return self.pipeline(find_pipeline(PIPELINES, pipeline.name)).sink == pipeline.sink

    def set_aside_command(self, pipeline: Pipeline, location: CheckpointLocation) -> str:
        """Moves a checkpoint to where no command looks, under a name that is free."""
        aside = self.home / "set-aside" / f"{pipeline.name}-{location.path.name}-{datetime.now(UTC):%Y%m%dT%H%M%S}"
        return f"mkdir -p {quote(str(aside.parent))} && mv {quote(str(location))} {quote(str(aside))}"

    def checkpoints(self, pipeline: Pipeline) -> list[CheckpointLocation]:
        """Of each sink that the pipeline was ever sent to; its own sink first, whether it has run or not."""
        own = self.checkpoint(self.pipeline(pipeline))
        return [own, *own.others()]

    def _of(self, pipeline: Pipeline) -> PipelineSettings:
        return self.settings.pipelines.get(pipeline.name, PipelineSettings())


def open_project(
    directory: Path, tell: Callable[[Reason], None] | None = None, options: Mapping[str, Any] | None = None
) -> Project:
    """The project in a directory. `tell` is told of a migration, which happens once."""
    directory = check_directory(directory)
    project = Project(directory, load_settings(directory, options))
    # Refuses a project of a newer version; one without a mark may be of 0.1.0.
    if project.home.is_dir() and PROJECT.read(project.mark) is None:
        from anabranch.project.migration import migrate

        migrated = migrate(project)
        if migrated is not None and tell is not None:
            tell(migrated)
    return project


def check_directory(directory: Path) -> Path:
    if not directory.is_dir():
        remedy = f"{directory} is a file: name the directory that it is in" if directory.exists() else f"mkdir -p {directory}"
        raise messages.NOT_A_DIRECTORY(path=str(directory), remedy=remedy)
    return directory.resolve()


@dataclass(frozen=True)
class CheckpointRef:
    location: CheckpointLocation
    # As it was sent to the sink whose checkpoint this is. None: named by its path, so nothing is known of it.
    pipeline: Pipeline | None

    @property
    def unpack_state(self) -> Callable[[Any], Iterable[Mapping[str, Any]]] | None:
        return self.pipeline.unpack_state if self.pipeline else None

    @property
    def name(self) -> str:
        return self.pipeline.name if self.pipeline else str(self.location)


def resolve_checkpoint(project: Project, directory: Path, names: Sequence[str], to: str | None) -> CheckpointRef:
    """An existing directory wins; so does what is written as a path. Anything else is a pipeline's name."""
    name = names[0]
    path = directory / name
    if len(names) == 1 and ("/" in name or path.is_dir()):
        return CheckpointRef(CheckpointLocation(path), None)
    pipelines = find_pipelines(PIPELINES, names, to)
    if len(names) != 1:
        raise ONE_CHECKPOINT(count=len(names), first=name)
    pipeline = project.sent_to(project.pipeline(pipelines[0]), to)
    return CheckpointRef(project.checkpoint(pipeline), pipeline)


@dataclass(frozen=True)
class Cluster:
    """The same cluster, as each client's properties name it."""

    address: str
    # Not in a repr: they may hold passwords.
    for_python: dict[str, str] = field(repr=False)
    for_java: dict[str, str] = field(repr=False)


def cluster_of(project: Project) -> Cluster:
    settings = project.settings.kafka
    address = settings.bootstrap_servers
    if address is None:
        from anabranch.kafka.embedded.broker import find_broker

        broker = find_broker(project.broker_dir)
        if broker is None:
            raise messages.NO_KAFKA(directory=str(project.directory))
        address = broker.address
    bootstrap = {"bootstrap.servers": address}
    properties = _anchored(settings.properties, project.directory)
    return Cluster(address, for_python(properties) | bootstrap, for_java(properties, _read_text) | bootstrap)


def admin_of(project: Project) -> KafkaAdmin:
    from anabranch.kafka.admin import KafkaAdmin

    return KafkaAdmin(cluster_of(project).for_python)


def producer_for(admin: KafkaAdmin, topic: str) -> GroupProducer:
    from anabranch.kafka.records import GroupProducer

    return GroupProducer(admin.properties, topic)


def read_topic(admin: KafkaAdmin, topic: str) -> Iterator[Received]:
    from anabranch.kafka.records import read_records

    return read_records(admin, topic)


def follow_topic(admin: KafkaAdmin, topic: str, tell: Callable[[Reason], None]) -> Iterator[Received | None]:
    from anabranch.kafka.follow import follow_records

    return follow_records(admin, topic, tell)


def _anchored(properties: Mapping[str, str], directory: Path) -> dict[str, str]:
    """A file is named from the project's directory, wherever the command was typed: neither client knows of -C."""
    return {
        name: str(directory / value) if name.endswith((".location", ".keytab", ".file")) and value != PROBE else value
        for name, value in properties.items()
    }


def _read_text(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8")
    except OSError as error:
        raise messages.KEY_FILE_UNREADABLE(file=file, reason=error.strerror) from None
    except UnicodeDecodeError:
        raise messages.KEY_FILE_NOT_PEM(file=file) from None
