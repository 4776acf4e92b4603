"""A table and its checkpoint belong together: what does not fit is refused before anything is written; each way out works."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from anabranch.kafka.admin import KafkaAdmin
from anabranch.spark.session import Session
from tests.support.harness import Project
from tests.support.remedies import paste, remedies, shell_command

pytestmark = [pytest.mark.kafka, pytest.mark.in_process]

RUN = ("run", "visits-lake", "--until-caught-up", "--max-offsets", "4")


def _configure(project: Project, address: str, topic: str, more: str = "") -> None:
    source = f'[pipeline.visits-lake]\ntopics = {{ source = "{topic}" }}\n{more}\n'
    project.configure(f'[kafka]\nbootstrap_servers = "{address}"\n{source}')


def _send(project: Project, topic: str, count: int) -> None:
    lines = [json.dumps({"visit_id": n, "event_time": f"2025-09-04T07:{n:02}:00Z"}) for n in range(count)]
    project.ok("produce", topic, "--partition", "0", text="\n".join(lines))


@pytest.fixture(scope="module")
def made(session: Session, kafka: dict[str, str], source: str, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A lake of 11 records in three batches. Each test has a copy: making one takes ten seconds."""
    project = Project(tmp_path_factory.mktemp("made"), session)
    _configure(project, kafka["bootstrap.servers"], source)
    _send(project, source, 11)
    project.ok(*RUN)
    return project


@pytest.fixture
def project(made: Project, tmp_path: Path) -> Iterator[Project]:
    shutil.copytree(made.directory, tmp_path / "it's a project")
    project = Project(tmp_path / "it's a project", made.session)
    yield project
    project.end()


def _lake(project: Project) -> Path:
    return project.directory / ".anabranch" / "lake" / "visits"


def _offsets(table: Path) -> Counter[int]:
    return Counter(DeltaTable(table).to_pyarrow_table(columns=["offset"])["offset"].to_pylist())


def _each_once(count: int) -> Counter[int]:
    return Counter(range(count))


def _refused(project: Project, code: str, *command: str, **environment: str) -> str:
    done = project(*(command or RUN), **environment)
    assert (done.returncode, f"refused[{code}]" in done.stderr) == (3, True), done.stderr
    return done.stderr


def _found(project: Project) -> list[str]:
    """The codes of what `checkpoint` finds: it ends with 4 where it finds anything."""
    done = project("checkpoint", "visits-lake", "--json")
    codes = [one["code"] for one in json.loads(done.stdout)["findings"]]
    assert done.returncode == (4 if codes else 0)
    return codes


def test_a_lake_that_went_away_is_noticed_and_no_new_one_is_begun(project: Project) -> None:
    assert _found(project) == []
    aside = _lake(project).with_name("aside")
    _lake(project).rename(aside)
    _refused(project, "table-vanished")
    assert _found(project) == ["table-vanished"]
    _refused(project, "table-vanished", "rewind", "visits-lake", "--to-batch", "1", "--yes")
    assert not _lake(project).exists()

    # Another table in its place: with another id, and without the query's batches.
    write_deltalake(_lake(project), DeltaTable(aside).to_pyarrow_table())
    _refused(project, "table-replaced")
    assert _found(project) == ["table-replaced"]

    # The first way out: the table is restored.
    shutil.rmtree(_lake(project))
    aside.rename(_lake(project))
    assert _found(project) == []
    project.ok("run", "visits-lake", "--until-caught-up")
    assert _offsets(_lake(project)) == _each_once(11)


def test_without_its_table_the_checkpoint_is_set_aside_and_all_that_kafka_retains_is_written_again(project: Project) -> None:
    shutil.rmtree(_lake(project))
    command = shell_command(_refused(project, "table-vanished"), "or set its checkpoint aside")
    assert paste(project, command).returncode == 0
    project.ok(*RUN)
    assert _offsets(_lake(project)) == _each_once(11)
    records = [
        one["records"] for one in json.loads(project.ok("status", "--json"))["pipelines"] if one["name"] == "visits-lake"
    ]
    assert records == [11]


def test_an_older_copy_of_the_table_is_refused_and_the_checkpoint_is_rewound_to_it(project: Project) -> None:
    """As a restored backup: the log without its newest commits, and so without the query's newest batches."""
    for file in (_lake(project) / "_delta_log").iterdir():
        if "00002." in file.name:
            file.unlink()
    assert sum(_offsets(_lake(project)).values()) == 8
    said = _refused(project, "table-behind")
    way = next(one for one in remedies(said) if "rewind" in one)
    done = paste(project, way.partition(": ")[2].replace("--checkpoint-only", "--checkpoint-only --yes"))
    assert done.returncode == 0, done.stderr
    project.ok(*RUN)
    assert _offsets(_lake(project)) == _each_once(11)


def test_the_printed_remedy_does_not_double_the_lake(project: Project, source: str) -> None:
    """Another time zone is refused; its remedy is followed; what the table holds is not written a second time."""
    said = _refused(project, "checkpoint-differs", *RUN, ANABRANCH_TIMEZONE="Europe/Paris")
    assert "timezone is Europe/Paris" in said
    assert paste(project, shell_command(said, "to start again from what Kafka retains")).returncode == 0
    said = _refused(project, "table-holds-records")
    assert f"11 records of {source} partition 0, offsets 0 to 10" in said
    assert _offsets(_lake(project)) == _each_once(11)
    # The first way out: continue behind what it holds. Records that came meanwhile are read.
    _send(project, source, 2)
    (way,) = (one for one in remedies(said) if "--from-sink" in one)
    done = paste(project, way.partition("   ")[0] + " --until-caught-up")
    assert done.returncode == 0, done.stderr
    assert "behind what its table holds" in done.stderr
    assert _offsets(_lake(project)) == _each_once(13)


def test_two_projects_do_not_write_the_same_records_to_one_table(
    made: Project, kafka: dict[str, str], source: str, make_project: Callable[[str], Project]
) -> None:
    other = make_project("other")
    _configure(other, kafka["bootstrap.servers"], source, f'table = "{_lake(made)}"')
    before = DeltaTable(_lake(made)).version()
    said = _refused(other, "table-holds-records")
    assert DeltaTable(_lake(made)).version() == before
    # The second way out: another table.
    (way,) = (one for one in remedies(said) if "table:ANOTHER" in one)
    done = paste(other, way.partition("   ")[0].replace("ANOTHER", "mine") + " --until-caught-up")
    assert done.returncode == 0, done.stderr
    assert _offsets(other.directory / "mine").keys() >= _each_once(11).keys()
    # From the end of the topic it writes nothing twice.
    assert other("run", "visits-lake", "--from-end", "--until-caught-up").returncode == 0


def test_a_table_of_results_that_holds_rows_is_not_added_to_by_a_first_start(project: Project, source: str) -> None:
    rows = pa.table({"visit_id": ["1"], "page": ["home"]})
    write_deltalake(project.directory / "log", rows)
    environment = {"ANABRANCH_PIPELINES": json.dumps({"visits-log": {"topics": {"source": source}}})}
    said = _refused(project, "table-holds-rows", "run", "visits-log", "--to", "table:log", **environment)
    _refused(project, "no-sink-to-continue", "run", "visits-log", "--to", "table:log", "--from-sink", **environment)
    (way,) = (one for one in remedies(said) if one.startswith("mv "))
    assert paste(project, way).returncode == 0
    assert (project.directory / "log.old").is_dir()
    _refused(project, "no-sink-to-continue", "run", "visits-log", "--from-sink", **environment)


def test_a_table_of_a_topic_that_was_recreated_is_not_continued(project: Project, topics: KafkaAdmin, topic: str) -> None:
    """The same name and offsets, other records: Kafka's time of the last one tells."""
    table = DeltaTable(_lake(project)).to_pyarrow_table()
    renamed = table.set_column(table.schema.get_field_index("topic"), "topic", pa.array([topic] * table.num_rows))
    write_deltalake(project.directory / "old", renamed)
    _configure(project, topics.address, topic, 'table = "old"')
    _send(project, topic, 5)
    _refused(project, "table-of-other-records", *RUN, "--from-sink")
    _send(project, topic, 10)
    _refused(project, "table-of-other-records", *RUN, "--from-sink")


def test_two_sinks_never_share_a_checkpoint_and_a_checkpoint_belongs_to_one_sink(project: Project) -> None:
    for path in ("out/a", "out-a"):
        project.ok(*RUN, "--to", f"table:{path}")
        assert _offsets(project.directory / path).keys() >= _each_once(11).keys()
    checkpoints = project.directory / ".anabranch" / "checkpoints" / "visits-lake"
    other = next(path for path in checkpoints.iterdir() if path.is_dir() and path.name.startswith("table-out-a-"))
    # Put in the place of the other by hand.
    for suffix in ("", ".baseline.json"):
        (checkpoints / f"table-out-a{suffix}").rename(checkpoints / f"gone{suffix}")
        (checkpoints / f"{other.name}{suffix}").rename(checkpoints / f"table-out-a{suffix}")
    said = _refused(project, "checkpoint-differs", *RUN, "--to", "table:out-a")
    assert "it writes to table:out-a, the checkpoint belongs to table:out/a" in said


def test_what_changes_the_meaning_of_records_is_refused_or_said(project: Project) -> None:
    for environment, code in (
        ({"ANABRANCH_TIMEZONE": "Europe/Paris"}, "other-zone"),
        ({"ANABRANCH_SPARK": json.dumps({"sql.shuffle.partitions": "7"})}, "other-shuffle-partitions"),
    ):
        error = _error(project("checkpoint", "visits-lake", "--json", **environment).stdout)
        assert [one["code"] for one in error["params"]["why"]] == [code]
    # Another tolerance is allowed, and said.
    done = project("run", "visits-lake", "--until-caught-up", "--future-tolerance", "1m")
    assert (done.returncode, "future_tolerance is 1m from here on, it was 1h" in done.stderr) == (0, True), done.stderr


def _error(text: str) -> dict[str, Any]:
    (finding,) = json.loads(text)["findings"]
    return dict(finding)
