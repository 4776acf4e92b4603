"""What a command is about: a pipeline's checkpoint, or any directory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from anabranch.checkpoint.offsets import RetainedOffsets
from anabranch.errors import AnabranchError, Misused
from anabranch.pipeline.definition import Pipeline, find_pipeline, sink_for, split_target
from anabranch.project.project import Project


@dataclass(frozen=True)
class CheckpointRef:
    path: Path
    # As it was sent to the sink whose checkpoint this is. None: named by its path, so nothing is known of it.
    pipeline: Pipeline | None

    @property
    def name(self) -> str:
        return self.pipeline.name if self.pipeline else str(self.path)


def resolve_checkpoint(project: Project, directory: Path, names: Sequence[str], to: str | None) -> CheckpointRef:
    """A directory that is there wins; so does what is written as a path. Anything else is a pipeline's name."""
    names, target = split_target(names, to)
    if len(names) != 1:
        raise Misused(f"one checkpoint at a time, not {len(names)}.", f"the first alone: {names[0]}")
    name = names[0]
    path = directory / name
    if "/" in name or path.is_dir():
        return CheckpointRef(path, None)
    pipeline = project.pipeline(find_pipeline(name))
    pipeline = pipeline.changed(sink=project.placed(sink_for(pipeline, to, target)))
    return CheckpointRef(project.checkpoint(pipeline), pipeline)


def retained_offsets(project: Project, ref: CheckpointRef) -> RetainedOffsets | None:
    """What Kafka holds of the pipeline's source; None: it is not known which Kafka is meant, or it does not answer."""
    if ref.pipeline is None:
        return None
    # Kafka's client takes a tenth of a second to load: only where Kafka is asked.
    from anabranch.project.cluster import topics_of

    try:
        topic = ref.pipeline.source_topic
        return {topic: topics_of(project).reach(topic)}
    except AnabranchError:
        return None
