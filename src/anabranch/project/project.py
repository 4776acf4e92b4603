"""A project is a directory: `anabranch.toml`, and `.anabranch/` with all that the commands keep there."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from anabranch.errors import Misused
from anabranch.pipeline.definition import VISITS_LAKE, Pipeline, Sink, Table, Topic, sink_name
from anabranch.project.settings import Loaded, PipelineSettings, Settings, load_settings


@dataclass(frozen=True)
class Project:
    directory: Path
    loaded: Loaded

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
    def ivy_settings(self) -> Path | None:
        named = self.settings.jars.ivy_settings
        return self.directory / named if named else None

    @property
    def lake(self) -> Path:
        sink = self.pipeline(VISITS_LAKE).sink
        assert isinstance(sink, Table)
        return Path(sink.path)

    def pipeline(self, defaults: Pipeline) -> Pipeline:
        """The pipeline as this project's settings change it."""
        own = self._of(defaults)
        sink: Sink = Topic(own.topics.sink) if own.topics.sink else Table(own.table) if own.table else defaults.sink
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

    def placed(self, sink: Sink | None) -> Sink | None:
        """A table's path is seen from the project's directory."""
        return Table(str(self.directory / sink.path)) if isinstance(sink, Table) else sink

    def checkpoint(self, pipeline: Pipeline) -> Path:
        own = self._of(pipeline).checkpoint
        base = self.directory / own if own else self.home / "checkpoints" / pipeline.name
        sink = pipeline.sink
        if isinstance(sink, Table):
            sink = Table(os.path.relpath(sink.path, self.directory))
        return base / sink_name(sink)

    def checkpoints(self, pipeline: Pipeline) -> list[Path]:
        """Of each sink that the pipeline has ever been sent to; its own sink first, whether it has run or not."""
        own = self.checkpoint(self.pipeline(pipeline))
        others = sorted(path for path in own.parent.glob("*") if path.is_dir() and path != own)
        return [own, *others]

    def _of(self, pipeline: Pipeline) -> PipelineSettings:
        return self.settings.pipelines.get(pipeline.name, PipelineSettings())


def open_project(directory: Path, options: Mapping[str, Any] | None = None) -> Project:
    if not directory.is_dir():
        raise Misused(f"{directory} is not a directory.", f"mkdir -p {directory}")
    directory = directory.resolve()
    return Project(directory, load_settings(directory, options))
