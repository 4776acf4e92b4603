"""What all tiers share: projects in directories of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.harness import Project


@pytest.fixture
def make_project(tmp_path: Path) -> Iterator[Callable[[str], Project]]:
    projects: list[Project] = []

    def make(name: str) -> Project:
        directory = tmp_path / name
        directory.mkdir()
        projects.append(Project(directory))
        return projects[-1]

    yield make
    for project in projects:
        project.end()


@pytest.fixture
def project(make_project: Callable[[str], Project]) -> Project:
    return make_project("project")
