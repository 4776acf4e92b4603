"""A project is a directory: `anabranch.toml`, and `.anabranch/` with everything that the commands keep there.

It knows which pipeline and which checkpoint a command means.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from anabranch.checkpoint.baseline_file import read_baseline
from anabranch.checkpoint.messages import ONE_CHECKPOINT
from anabranch.errors import Reason
from anabranch.operations.log import OperationLog
from anabranch.pipeline.catalog import Catalog
from anabranch.pipeline.definition import Pipeline, UnpackState, find_pipeline, find_pipelines
from anabranch.pipeline.messages import SEVERAL_TOPICS, UNKNOWN_TOPIC, WINDOW_NOT_SETTABLE
from anabranch.pipeline.sinks import Results, Sink, Table
from anabranch.pipeline.topic import Topic
from anabranch.project import messages
from anabranch.project.catalog_file import KnownPipelines, RetiredPipelines, read_retired, write_manifest
from anabranch.project.settings import LoadedSettings, PipelineSettings, Settings, load_settings
from anabranch.storage.files import HOME, CheckpointLocation, Format
from anabranch.text.suggest import did_you_mean

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
    known: KnownPipelines

    @property
    def catalog(self) -> Catalog:
        return self.known.catalog

    @cached_property
    def _retired(self) -> RetiredPipelines:
        return read_retired(self.home, self.catalog)

    @property
    def pipelines(self) -> tuple[Pipeline, ...]:
        """All that a command can be about: what is declared, and what is not any more and has a checkpoint."""
        return (*self.catalog.pipelines, *self._retired.pipelines)

    @property
    def notes(self) -> tuple[Reason, ...]:
        """Where what is known of pipelines is not what their files say now, or cannot be read."""
        return (*self.known.notes, *self._retired.unreadable)

    def find(self, names: Sequence[str], to: str | None = None) -> list[Pipeline]:
        """Pipelines by name, each once, as the settings have them."""
        return self._found(self.pipelines, names, to)

    def find_declared(self, names: Sequence[str], to: str | None = None) -> list[Pipeline]:
        """Those that can run."""
        return self._found(self.catalog.pipelines, names, to)

    def _found(self, known: Sequence[Pipeline], names: Sequence[str], to: str | None) -> list[Pipeline]:
        if not set(names) <= {pipeline.name for pipeline in known}:
            self.known.check_read()
        return [self.pipeline(found) for found in find_pipelines(known, names, to)]

    def is_declared(self, pipeline: Pipeline) -> bool:
        return any(declared.name == pipeline.name for declared in self.catalog.pipelines)

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

    def lake_for(self, pipeline: Pipeline) -> Pipeline | None:
        """What fills the lake of the topic that a pipeline reads; None: the topic has none, or is not declared any more."""
        lake = self.catalog.lake_for(pipeline) if self.is_declared(pipeline) else None
        return self.pipeline(lake) if lake is not None else None

    def lake_of(self, topic: str | None) -> Pipeline:
        """What fills the lake that a command names by its topic, or the only one."""
        return self.pipeline(self.catalog.lake_of(topic))

    def find_topic(self, name: str | None) -> Topic:
        """A topic of the project by its name, or the only one that is read: what its records say."""
        self.known.check_read()
        read = {topic.name: topic for pipeline in self.catalog.pipelines for topic in self.pipeline(pipeline).topics}
        if name is None:
            if len(read) > 1:
                raise SEVERAL_TOPICS(count=len(read), topics=sorted(read))
            return next(iter(read.values()))
        known = read | {topic.name: topic for topic in self.catalog.topics}
        if name not in known:
            raise UNKNOWN_TOPIC(topic=name, suggestion=did_you_mean(name, known))
        return known[name]

    def pipeline(self, defaults: Pipeline) -> Pipeline:
        """The pipeline as this project's settings change it."""
        own = self._of(defaults)
        for name, what, setting, default in (
            ("window", "window", own.window, defaults.window_s),
            ("watermark", "watermark", own.watermark, defaults.watermark_s),
            ("watermark_jump", "watermark", own.watermark_jump, defaults.watermark_s),
        ):
            if setting is not None and default is None:
                raise WINDOW_NOT_SETTABLE(pipeline=defaults.name, what=what, setting=f"pipeline.{defaults.name}.{name}")
        sink: Sink = Results(own.topics.sink) if own.topics.sink else defaults.table(own.table) if own.table else defaults.sink
        defaults.check_sink(sink)
        reading = defaults.reading(own.topics.source)
        return reading.changed(
            sink=self.placed(sink),
            result_topic=own.topics.sink,
            trigger_s=own.trigger,
            max_offsets=own.max_offsets,
            future_tolerance_s=own.future_tolerance,
            skip=self._skipped(own, reading.topic_names),
            window_s=own.window,
            watermark_s=own.watermark,
            watermark_jump_s=own.watermark_jump,
        )

    def _skipped(self, own: PipelineSettings, topics: Sequence[str]) -> tuple[str, ...]:
        """A record of another topic would be skipped nowhere, without a word."""
        for record in own.skip:
            if record.rpartition(":")[0].rpartition(":")[0] not in topics:
                raise messages.SKIP_OF_OTHER_TOPIC(record=record, topic=topics[0])
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
        return self.pipeline(find_pipeline(self.pipelines, pipeline.name)).sink == pipeline.sink

    def set_aside_command(self, pipeline: Pipeline, location: CheckpointLocation) -> str:
        """Moves a checkpoint to where no command looks, under a name that is free."""
        aside = self.home / "set-aside" / f"{pipeline.name}-{location.path.name}-{datetime.now(UTC):%Y%m%dT%H%M%S}"
        return f"mkdir -p {quote(str(aside.parent))} && mv {quote(str(location))} {quote(str(aside))}"

    def checkpoints(self, pipeline: Pipeline) -> list[CheckpointLocation]:
        """Of each sink that the pipeline was ever sent to; its own sink first, whether it has run or not."""
        own = self.checkpoint(self.pipeline(pipeline))
        return [own, *own.others()]

    def _of(self, pipeline: Pipeline) -> PipelineSettings:
        return self.settings.pipeline.get(pipeline.name, PipelineSettings())


def open_project(
    directory: Path, tell: Callable[[Reason], None] | None = None, options: Mapping[str, Any] | None = None
) -> Project:
    """The project in a directory. `tell` is told of a migration, which happens once."""
    directory = check_directory(directory)
    loaded = load_settings(directory, options)
    project = Project(directory, loaded, loaded.known)
    # Refuses a project of a newer version; one without a mark may be of 0.1.0.
    if project.home.is_dir() and PROJECT.read(project.mark) is None:
        from anabranch.project.migration import migrate

        migrated = migrate(project)
        if migrated is not None and tell is not None:
            tell(migrated)
    return project


def with_code(project: Project) -> Project:
    """The project with the code of its pipelines: its files are imported, and what they declare is kept in the manifest."""
    if project.known.is_builtin:
        return project
    from anabranch.project.load import import_pipelines

    catalog, sources = import_pipelines(project.directory, project.settings.pipelines)
    write_manifest(project.home, catalog, sources)
    return replace(project, known=KnownPipelines(catalog, project.known.files))


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
    def unpack_state(self) -> UnpackState | None:
        return self.pipeline.code.unpack_state if self.pipeline and self.pipeline.code else None

    @property
    def name(self) -> str:
        return self.pipeline.name if self.pipeline else str(self.location)


def resolve_checkpoint(project: Project, directory: Path, names: Sequence[str], to: str | None) -> CheckpointRef:
    """An existing directory wins; so does what is written as a path. Anything else is a pipeline's name."""
    name = names[0]
    path = directory / name
    if len(names) == 1 and ("/" in name or path.is_dir()):
        return CheckpointRef(CheckpointLocation(path), None)
    pipelines = project.find(names, to)
    if len(names) != 1:
        raise ONE_CHECKPOINT(count=len(names), first=name)
    pipeline = project.sent_to(pipelines[0], to)
    return CheckpointRef(project.checkpoint(pipeline), pipeline)
