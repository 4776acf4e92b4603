"""The queries of this tier, each run once, when a test first asks for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.support.queries import Query


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.support.queries import FILES

    directory = tmp_path_factory.mktemp("visits")
    for number in range(FILES):
        # Keys that only one batch touches are where stale state would show.
        rows = [{"k": key, "v": number} for key in ("a", "b", "c", f"only-{number}")]
        (directory / f"{number}.json").write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return directory


@pytest.fixture(scope="session")
def made(spark: SparkSession, files: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Query]:
    """Each kind of checkpoint is made when it is first asked for."""
    from tests.support.queries import KINDS, Query

    queries: dict[str, Query] = {}

    def make(name: str) -> Query:
        if name not in queries:
            kind = next(kind for kind in KINDS if kind.name == name)
            session = spark.newSession()
            for key, value in kind.conf.items():
                session.conf.set(key, value)
            query = Query(session, kind, files, tmp_path_factory.mktemp(name) / "checkpoint")
            query.results = query.run()
            queries[name] = query
        return queries[name]

    return make
