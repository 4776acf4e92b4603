"""What rewinds are tried on: a foreign checkpoint beside a project; lakes, made once for a file and copied for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from tests.support.desk import Desk
from tests.support.drawing import draw, write_tree

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from anabranch.kafka.admin import KafkaAdmin
    from tests.support.lakes import MadeLake
    from tests.support.streams import Stream

Make = Callable[[], "MadeLake"]


@pytest.fixture(scope="module")
def make(
    tmp_path_factory: pytest.TempPathFactory, spark: SparkSession, kafka: dict[str, str], topics: KafkaAdmin
) -> Iterator[Make]:
    from anabranch.pipeline.sinks import Table
    from tests.support.lakes import A_BATCH, VISITS, MadeLake, offsets, send
    from tests.support.streams import stream

    sources: list[str] = []

    def made() -> MadeLake:
        directory, source = tmp_path_factory.mktemp("made"), f"visits-{uuid4().hex[:12]}"
        sources.append(source)
        topics.create(source, 2)
        address = f'[kafka]\nbootstrap_servers = "{kafka["bootstrap.servers"]}"\n'
        toml = f'{address}[pipeline.visits-lake]\ntable = "lake"\ntopics = {{ source = "{source}" }}\n'
        (directory / "anabranch.toml").write_text(toml, encoding="utf-8")
        one = stream(directory, spark, kafka, "visits-lake", Table("lake"))
        send(one, VISITS)
        one.run(A_BATCH)
        assert offsets(one) == list(range(VISITS // 2)) * 2
        return MadeLake(one)

    yield made
    for source in sources:
        topics.delete(source)


@pytest.fixture(scope="module")
def shared(make: Make) -> MadeLake:
    return make()


@pytest.fixture
def lake(shared: MadeLake, tmp_path: Path) -> Stream:
    """Of a topic to which other tests of this file may have sent more."""
    return shared.copy(tmp_path)


@pytest.fixture
def alone(make: Make) -> Stream:
    """Of a topic that no other test knows."""
    return make().original


@pytest.fixture(scope="module")
def behind(make: Make) -> MadeLake:
    """20 more visits have come than the lake holds."""
    from tests.support.lakes import send

    made = make()
    send(made.original, 20)
    return made


@pytest.fixture
def desk(desk: Desk) -> Desk:
    """With the checkpoint of another's query."""
    write_tree(draw(), desk.checkpoint)
    return desk
