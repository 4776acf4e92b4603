"""One project for all tests of repair."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from anabranch.kafka.admin import KafkaAdmin
from anabranch.spark.session import Session
from tests.repair.repairs import Repairs
from tests.support.harness import Project
from tests.support.kafka_fixtures import create_topic


@pytest.fixture(scope="package")
def repairs(
    session: Session, kafka: dict[str, str], topics: KafkaAdmin, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Repairs]:
    repairs = Repairs(Project(tmp_path_factory.mktemp("repair"), session), create_topic(topics, 2), kafka)
    repairs.start()
    yield repairs
    repairs.project.end()
