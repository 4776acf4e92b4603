"""A project is a directory: `anabranch.toml`, and `.anabranch/` with everything that the commands keep there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from anabranch.errors import Reason
from anabranch.operations.log import OperationLog
from anabranch.pipeline.catalog import LAKE
from anabranch.pipeline.definition import Pipeline, Sink, Table, Topic
from anabranch.pipeline.messages import WINDOW_NOT_SETTABLE
from anabranch.project import messages
from anabranch.project.settings import LoadedSettings, PipelineSettings, Settings, load_settings
from anabranch.storage.files import Format
from anabranch.storage.location import CheckpointLocation


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
        return self.directory / ".anabranch"

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
        for what, setting, default in (
            ("window", own.window, defaults.window_s),
            ("watermark", own.watermark, defaults.watermark_s),
        ):
            if setting is not None and default is None:
                raise WINDOW_NOT_SETTABLE(pipeline=defaults.name, what=what, setting=f"pipelines.{defaults.name}.{what}")
        sink: Sink = Topic(own.topics.sink) if own.topics.sink else Table(own.table) if own.table else defaults.sink
        defaults.check_sink(sink)
        return defaults.changed(
            source_topic=own.topics.source,
            sink=self.placed(sink),
            result_topic=own.topics.sink,
            trigger_s=own.trigger,
            max_offsets=own.max_offsets,
            future_tolerance_s=own.future_tolerance,
            window_s=own.window,
            watermark_s=own.watermark,
        )

    def sent_to(self, pipeline: Pipeline, to: str | None) -> Pipeline:
        """The pipeline as `--to` sends it."""
        return pipeline.changed(sink=self.placed(pipeline.sent_to(to)))

    def placed(self, sink: Sink | None) -> Sink | None:
        return sink.placed(str(self.directory)) if sink is not None else None

    def checkpoint(self, pipeline: Pipeline) -> CheckpointLocation:
        own = self._of(pipeline).checkpoint
        base = self.directory / own if own else self.home / "checkpoints" / pipeline.name
        return CheckpointLocation(base / pipeline.sink.directory_name(str(self.directory)))

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
    if not directory.is_dir():
        raise messages.NOT_A_DIRECTORY(path=str(directory))
    directory = directory.resolve()
    project = Project(directory, load_settings(directory, options))
    # Refuses a project of a newer version; one without a mark may be of 0.1.0.
    if project.home.is_dir() and PROJECT.read(project.mark) is None:
        from anabranch.project.migration import migrate

        migrated = migrate(project)
        if migrated is not None and tell is not None:
            tell(migrated)
    return project
