"""The lake of a project: what it holds, and the records with problems. No JVM."""

from __future__ import annotations

from anabranch.delta.lake import LakeState, Problem, compact_lake, inspect_lake, problem_counts, read_problems
from anabranch.project.project import Project


def lake_state(project: Project) -> LakeState:
    return inspect_lake(project.lake)


def problems(project: Project, reason: str | None, limit: int) -> tuple[dict[str, int], list[Problem]]:
    """How many records have each problem, the most frequent first; and some of them."""
    counts = problem_counts(project.lake)
    if reason is not None:
        counts = {name: count for name, count in counts.items() if name == reason}
    return counts, read_problems(project.lake, reason, limit)


def compact(project: Project) -> tuple[int, int]:
    """How many files there were, and are."""
    return compact_lake(project.lake)
