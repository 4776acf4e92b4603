"""Reprocess from a lake that lacks records: refused with the ranges. Holes of transactions are no loss."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from confluent_kafka import Producer
from deltalake import DeltaTable

from anabranch.errors import Refused
from anabranch.kafka.admin import KafkaAdmin
from anabranch.pipeline.builtin.visits_counter import VISITS_COUNTER
from anabranch.project.project import open_project
from anabranch.reprocess.inspect import check_range
from anabranch.reprocess.plan import Range
from anabranch.spark.session import Session
from tests.support.harness import PATIENCE_S, Project
from tests.support.kafka_fixtures import create_topic, delete_before
from tests.support.remedies import paste, remedies, shell_command

pytestmark = [pytest.mark.kafka, pytest.mark.in_process]

SEVEN = ("--from", "2025-09-04T07:00Z", "--to", "2025-09-04T07:10Z")
SEVEN_MS = 1756969200000
WINDOW = Range(SEVEN_MS, SEVEN_MS + 600_000)


def _visits(*times: str) -> list[str]:
    return [json.dumps({"visit_id": 1, "event_time": f"2025-09-04T{time}:00Z"}) for time in times]


def _configure(project: Project, address: str, topic: str, table: str = "") -> None:
    lake = f'[pipeline.visits-lake]\ntopics = {{ source = "{topic}" }}\n{table}\n'
    counter = f'[pipeline.visits-counter]\ntopics = {{ source = "{topic}", sink = "{topic}-counts" }}\n'
    project.configure(f'[kafka]\nbootstrap_servers = "{address}"\n{lake}{counter}')


def _send(project: Project, topic: str, *times: str) -> None:
    project.ok("produce", topic, "--partition", "0", text="\n".join(_visits(*times)))


def _counts(project: Project, topic: str) -> dict[str, int]:
    """The latest count of each window."""
    values = map(json.loads, project.ok("consume", f"{topic}-counts").splitlines())
    return {value["window"]["start"][11:16]: value["count"] for value in values}


def test_a_lake_that_began_later_is_refused_and_a_new_one_gives_the_right_results(
    project: Project, kafka: dict[str, str], topic: str
) -> None:
    _configure(project, kafka["bootstrap.servers"], topic)
    _send(project, topic, "07:00", "07:01", "07:02")
    project.ok("run", "visits-lake", "--from-end", "--until-caught-up")
    _send(project, topic, "07:05", "07:33", "08:06")
    project.ok("run", "visits-lake", "visits-counter", "--until-caught-up")
    assert _counts(project, topic)["07:00"] == 4
    before = project.ok("consume", f"{topic}-counts")

    refused = project("reprocess", "visits-counter", *SEVEN, "--yes", "--json")
    assert (refused.returncode, "refused[lake-incomplete]" in refused.stderr) == (3, True), refused.stderr
    (missing,) = json.loads(refused.stdout)["error"]["params"]["missing"]
    assert missing["params"] == {"count": 3, "partition": 0, "first": 0, "last": 2}
    assert project.ok("consume", f"{topic}-counts") == before

    # The remedy: a new lake.
    (way,) = remedies(refused.stderr)
    assert 'table = "PATH" in [pipeline.visits-lake]' in way
    _configure(project, kafka["bootstrap.servers"], topic, 'table = "another"')
    done = paste(project, way.rpartition(", then ")[2])
    assert done.returncode == 0, done.stderr
    again = project("reprocess", "visits-counter", *SEVEN, "--dry-run")
    assert (again.returncode, "4 (unchanged)" in again.stdout) == (0, True), again.stderr

    # The counter reads on, the lake does not: it is behind.
    _send(project, topic, "08:50")
    project.ok("run", "visits-counter", "--until-caught-up")
    behind = project("reprocess", "visits-counter", *SEVEN, "--yes")
    assert (behind.returncode, "refused[lake-behind]" in behind.stderr) == (3, True), behind.stderr


def test_the_remedy_for_lost_offsets_ends_with_the_right_results(project: Project, kafka: dict[str, str], topic: str) -> None:
    _configure(project, kafka["bootstrap.servers"], topic)
    _send(project, topic, "07:00", "07:01", "07:02")
    project.ok("run", "visits-lake", "visits-counter", "--until-caught-up")
    _send(project, topic, "07:03", "07:33", "08:06", "08:50")
    project.ok("run", "visits-lake", "--until-caught-up")
    delete_before(kafka, topic, 0, 4)
    refused = project("run", "visits-counter", "--until-caught-up")
    assert (refused.returncode, "refused[offsets-lost]" in refused.stderr) == (3, True), refused.stderr
    assert paste(project, shell_command(refused.stderr, "to start again")).returncode == 0
    # The new query reads what is left, from 07:33 on; what Kafka has lost is in the lake.
    project.ok("run", "visits-counter", "--until-caught-up")
    (way,) = (one for one in remedies(refused.stderr) if "anabranch reprocess" in one)
    command = f"{way.rpartition(': ')[2].partition('   ')[0]} {' '.join(SEVEN)} --yes"
    done = paste(project, command)
    assert done.returncode == 0, done.stderr
    assert _counts(project, topic) == {"07:00": 4, "07:30": 1, "08:00": 1}


@pytest.fixture(scope="module")
def source(topics: KafkaAdmin) -> str:
    return create_topic(topics, 1)


@pytest.fixture(scope="module")
def transactional(session: Session, kafka: dict[str, str], source: str, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Records of transactions, one of them aborted: each leaves an offset that is no record."""
    producer = Producer({**kafka, "transactional.id": source})
    producer.init_transactions(PATIENCE_S)
    for times, is_kept in ((("07:00", "07:01"), True), (("07:02",), False), (("07:33", "08:06"), True)):
        producer.begin_transaction()
        for visit in _visits(*times):
            producer.produce(source, visit.encode())
        producer.flush()
        (producer.commit_transaction if is_kept else producer.abort_transaction)(PATIENCE_S)
    project = Project(tmp_path_factory.mktemp("transactional"), session)
    _configure(project, kafka["bootstrap.servers"], source)
    project.ok("run", "visits-lake", "visits-counter", "--until-caught-up")
    return project


@pytest.fixture
def holes(transactional: Project, tmp_path: Path) -> Project:
    shutil.copytree(transactional.directory, tmp_path / "copy")
    return Project(tmp_path / "copy")


def _missing(project: Project) -> list[tuple[int, int]]:
    """What the check of the lake refuses; empty: nothing."""
    opened = open_project(project.directory)
    try:
        check_range(opened, opened.pipeline(VISITS_COUNTER), WINDOW)
    except Refused as refused:
        if refused.code != "lake-incomplete":
            raise
        return [(one.params["first"], one.params["last"]) for one in refused.reason.params["missing"]]
    return []


def _lake(project: Project) -> Path:
    return project.directory / ".anabranch" / "lake" / "visits"


def _forget(project: Project) -> None:
    """What the lake's query has counted, and what was proven already."""
    (history,) = (project.directory / ".anabranch" / "checkpoints" / "visits-lake").glob("*.history.jsonl")
    history.unlink()
    (project.directory / ".anabranch" / "lake-proof-visits-lake.json").unlink()


def test_marks_of_transactions_are_no_loss_and_a_row_that_is_gone_is(holes: Project) -> None:
    held = sorted(DeltaTable(_lake(holes)).to_pyarrow_table(columns=["offset"])["offset"].to_pylist())
    assert held == [0, 1, 3, 5, 6]
    assert _missing(holes) == []
    # Without the lake's own count Kafka tells the same.
    _forget(holes)
    assert _missing(holes) == []
    DeltaTable(_lake(holes)).delete('"offset" = 1')
    assert _missing(holes) == [(1, 2)]
    # Gone from its end: its query has read it, and would not write it again.
    DeltaTable(_lake(holes)).delete('"offset" >= 5')
    assert _missing(holes) == [(1, 2), (4, 7)]


def test_a_row_that_is_gone_is_found_by_the_count_and_what_kafka_no_longer_retains_is_told_by_it_alone(
    holes: Project, kafka: dict[str, str], source: str
) -> None:
    delete_before(kafka, source, 0, 5)
    assert _missing(holes) == []
    forgetful = Project(holes.directory.with_name("forgetful"))
    shutil.copytree(holes.directory, forgetful.directory)
    _forget(forgetful)
    assert _missing(forgetful) == [(2, 2), (4, 4)]
    DeltaTable(_lake(holes)).delete('"offset" = 1')
    assert _missing(holes) == [(1, 2), (4, 4)]
