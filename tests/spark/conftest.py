"""One Spark session for the whole tier, started as a run starts it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from anabranch.setup.jars import ensure_jars
from anabranch.setup.session import start_session


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    directory = tmp_path_factory.mktemp("spark")
    session = start_session(
        {}, zone="UTC", jars=ensure_jars("spark"), scratch_dir=directory / "tmp", log_file=directory / "spark.log"
    )
    yield session.spark
    session.end()
