"""What the tests of streams that are killed share."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.support.harness import Project


@pytest.fixture
def project_with_broker(make_project: Callable[[str], Project]) -> Iterator[Project]:
    """With a broker of its own and the topic of visits."""
    project = make_project("project")
    project.configure("")
    project.ok("broker", "start", "--port", "0")
    project.ok("topics", "create", "visits", "--partitions", "2")
    yield project
    project.end()
    project.ok("broker", "stop")
