"""Which checkpoint a command is about: a pipeline's, or any directory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anabranch.checkpoint.messages import ONE_CHECKPOINT
from anabranch.checkpoint.sources import RetainedOffsets
from anabranch.errors import AnabranchError
from anabranch.pipeline.catalog import find_pipelines
from anabranch.pipeline.definition import Pipeline
from anabranch.project.project import Project
from anabranch.storage.location import CheckpointLocation


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
    pipelines = find_pipelines(names, to)
    if len(names) != 1:
        raise ONE_CHECKPOINT(count=len(names), first=name)
    pipeline = project.sent_to(project.pipeline(pipelines[0]), to)
    return CheckpointRef(project.checkpoint(pipeline), pipeline)


def retained_offsets(project: Project, ref: CheckpointRef) -> RetainedOffsets | None:
    """What Kafka retains of the pipeline's source; None: it is not known which Kafka is meant, or it is unreachable."""
    if ref.pipeline is None:
        return None
    # Kafka's client takes a tenth of a second to load: only where Kafka is asked.
    from anabranch.project.cluster import admin_of

    try:
        topic = ref.pipeline.source_topic
        return {topic: admin_of(project).offset_ranges(topic)}
    except AnabranchError:
        return None
