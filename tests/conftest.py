"""What all tests share: projects in directories of their own, one Spark session and one broker for those that ask."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from tests.support.desk import Desk
from tests.support.harness import Project, python_path

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from anabranch.spark.session import Session

# No test fails because the machine is busy.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

pytest_plugins = ["tests.support.kafka_fixtures", "tests.support.query_fixtures"]


@pytest.fixture(scope="session")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """Started as a run starts it, when the first test asks for it. There is one for a process."""
    from anabranch.spark.scala_jar import session_jars
    from anabranch.spark.session import SHORT_RUN, start_session

    directory = tmp_path_factory.mktemp("spark")
    # Workers import nothing from the current directory: what tests hand to them is named. Commands see none of it.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", python_path(Path(__file__).parents[1]))
        session = start_session(
            SHORT_RUN, zone="UTC", jars=session_jars(), scratch_dir=directory / "tmp", log_file=directory / "spark.log"
        )
    yield session
    session.end()


@pytest.fixture(scope="session")
def spark(session: Session) -> SparkSession:
    return session.spark


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A project whose commands run in this process."""
    monkeypatch.delenv("COLUMNS", raising=False)
    return Desk(tmp_path, capsys)


@pytest.fixture
def make_project(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[str], Project]]:
    projects: list[Project] = []
    session = request.getfixturevalue("session") if request.node.get_closest_marker("in_process") is not None else None

    def make(name: str) -> Project:
        directory = tmp_path / name
        directory.mkdir()
        projects.append(Project(directory, session))
        return projects[-1]

    yield make
    for project in projects:
        project.end()


@pytest.fixture
def project(request: pytest.FixtureRequest, make_project: Callable[[str], Project]) -> Project:
    """In a test of the Kafka tier it uses the tier's broker, and visits-log reads the test's topic."""
    project = make_project("project")
    if request.node.get_closest_marker("kafka") is not None:
        address, topic = request.getfixturevalue("kafka")["bootstrap.servers"], request.getfixturevalue("topic")
        project.configure(
            f"""
            [kafka]
            bootstrap_servers = "{address}"
            [pipeline.visits-log]
            topics = {{ source = "{topic}" }}
            """
        )
    return project
