"""The lakes of a project: what each holds, and the records with problems. No JVM."""

from __future__ import annotations

from pathlib import Path

from anabranch.delta.lake import LakeState, Problem, compact_lake, inspect_lake, problem_counts, read_problems
from anabranch.delta.messages import NO_LAKE
from anabranch.pipeline.definition import Pipeline
from anabranch.pipeline.sinks import Table
from anabranch.project.project import Project


def path_of(lake: Pipeline) -> Path:
    """Of the lake that a pipeline fills."""
    assert isinstance(lake.sink, Table)
    return Path(lake.sink.path)


def lake_path(lake: Pipeline) -> Path:
    """The same, where there is one."""
    if not (path := path_of(lake)).exists():
        raise NO_LAKE(path=str(path), ways=[f"anabranch run {lake.name} --until-caught-up"])
    return path


def lake_state(project: Project, topic: str | None) -> LakeState:
    return inspect_lake(lake_path(project.lake_of(topic)))


def problems(project: Project, topic: str | None, reason: str | None, limit: int) -> tuple[dict[str, int], list[Problem]]:
    """How many records have each problem, the most frequent first; and some of them."""
    path = lake_path(project.lake_of(topic))
    counts = problem_counts(path)
    if reason is not None:
        counts = {name: count for name, count in counts.items() if name == reason}
    return counts, read_problems(path, reason, limit)


def compact(project: Project, topic: str | None) -> tuple[int, int]:
    """How many files there were, and are."""
    return compact_lake(lake_path(project.lake_of(topic)))
