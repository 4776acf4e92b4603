"""Whether a lake's columns still say what decoding would: by the batches that wrote it, and by who else did."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from deltalake import DeltaTable, write_deltalake

from anabranch.checkpoint.history import HistoryEntry
from anabranch.project.project import open_project
from anabranch.reprocess.inspect import filling_of
from anabranch.reprocess.rules import followed, is_as_decoded_now
from anabranch.spark.session import Session
from tests.support.harness import Project
from tests.support.histories import record


def _lines(*batches: int | tuple[int, str | None]) -> list[HistoryEntry]:
    """A number alone: back to this batch, by a rewind."""
    found = []
    for one in batches:
        batch, ran = (one, None) if isinstance(one, int) else (one[0], record(one[0], code=one[1]))
        found.append(HistoryEntry(batch, 0, 0, 0, 0, 0, True, None, ran, None, None))
    return found


@pytest.mark.parametrize(
    ("known", "lines", "expected"),
    [
        ((-1, ""), _lines(), (-1, "")),
        ((-1, ""), _lines((0, "a"), (1, "a")), (1, "a")),
        ((1, "a"), _lines((2, "a")), (2, "a")),
        # Other rules, and back to the first: what batch 1 wrote is still there.
        ((-1, ""), _lines((0, "a"), (1, "b"), (2, "a")), (2, None)),
        # Not known: an older history, and a batch that left no line.
        ((-1, ""), _lines((0, None), (1, "a")), (1, None)),
        ((-1, ""), _lines((1, "a")), (1, None)),
        # Taken back, and run again.
        ((-1, ""), _lines((0, "a"), (1, "a"), 0, (1, "a")), (1, "a")),
        ((-1, ""), _lines((0, "a"), (1, "a"), 0, (1, "b")), (1, None)),
    ],
)
def test_all_batches_must_have_run_with_the_same_rules(
    known: tuple[int, str], lines: list[HistoryEntry], expected: tuple[int, str | None]
) -> None:
    assert followed(lines, *known) == expected


@pytest.fixture(scope="module")
def project(
    session: Session, kafka: dict[str, str], source: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Project]:
    project = Project(tmp_path_factory.mktemp("rules"), session)
    project.configure(
        f"""
        [kafka]
        bootstrap_servers = "{kafka["bootstrap.servers"]}"
        [pipeline.visits-lake]
        topics = {{ source = "{source}" }}
        [pipeline.visits-counter]
        topics = {{ source = "{source}" }}
        """
    )
    _run(project, source, 2)
    yield project
    project.end()


def _run(project: Project, source: str, visits: int, *options: str) -> None:
    lines = [json.dumps({"visit_id": n, "event_time": "2025-09-04T07:00:00Z"}) for n in range(visits)]
    project.ok("produce", source, "--partition", "0", text="\n".join(lines))
    project.ok("run", "visits-lake", "--until-caught-up", *options)


def _is_as_decoded(directory: Path, **changes: float) -> bool:
    opened = open_project(directory)
    (pipeline,) = opened.find(["visits-counter"])
    filling = filling_of(opened, pipeline)
    version = DeltaTable(directory / ".anabranch" / "lake" / "visits").version()
    return is_as_decoded_now(opened, replace(pipeline, **changes), filling, version)  # type: ignore[arg-type]


@pytest.mark.kafka
@pytest.mark.in_process
def test_a_lake_is_decoded_again_once_its_rules_or_its_writers_are_others(project: Project, source: str) -> None:
    directory = project.directory
    assert _is_as_decoded(directory)
    assert not _is_as_decoded(directory, future_tolerance_s=1.0), "the pipeline that reads it has another rule"
    _run(project, source, 3)
    assert _is_as_decoded(directory)
    project.ok("lake", "optimize")
    assert _is_as_decoded(directory), "the same rows in fewer files"
    project.ok("rewind", "visits-lake", "--to-batch", "1", "--yes")
    _run(project, source, 1)
    assert _is_as_decoded(directory), "by the same rules again"

    known = (directory / ".anabranch" / "lake-rules-visits-lake.json").read_bytes()
    table = DeltaTable(directory / ".anabranch" / "lake" / "visits")
    write_deltalake(table, table.to_pyarrow_table().slice(0, 1), mode="append")
    assert not _is_as_decoded(directory), "somebody else wrote to it"
    _run(project, source, 1)
    assert not _is_as_decoded(directory), "and what they wrote is still there"

    (directory / ".anabranch" / "lake-rules-visits-lake.json").write_bytes(known)
    assert not _is_as_decoded(directory), "it follows from the table, not from what was noted"
