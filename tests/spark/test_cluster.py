"""On a real standalone cluster: lake, counter and sessions come out as on one machine, whatever is killed meanwhile."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic

import psutil
import pytest
from deltalake import DeltaTable

from anabranch.checkpoint.history import newest_entry
from anabranch.checkpoint.reader import read_logs
from anabranch.kafka.admin import KafkaAdmin
from anabranch.kafka.records import GroupProducer, latest_by_key, read_records
from anabranch.pipeline.builtin.catalog import BUILTIN
from anabranch.pipeline.definition import find_pipeline
from anabranch.project.project import open_project
from anabranch.storage.files import CheckpointLocation
from tests.support.harness import PATIENCE_S, Project, Running
from tests.support.remedies import remedies
from tests.support.shop import Shop
from tests.support.spark_cluster import SparkCluster, bare_python, cluster_settings, executors_of

pytestmark = pytest.mark.kafka

RECORDS = 700
# Behind all others, one in each partition: they close every window and every visit.
CLOSING = '{"visit_id": "last", "event_time": "2025-09-05T07:00:00Z"}'
OTHER_VERSION = """
import sys
class Version(tuple):
    major, minor, micro, releaselevel, serial = 3, 9, 0, "final", 0
sys.version_info = Version((3, 9, 0, "final", 0))
"""
STATELESS, STATEFUL = ("visits-lake",), ("visits-counter", "visits-sessions")


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bare_python(tmp_path_factory.mktemp("python"))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    cluster = SparkCluster(tmp_path_factory.mktemp("cluster"))
    try:
        cluster.add_worker("worker-1")
        cluster.add_worker("worker-2")
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture(scope="module")
def visits(kafka: dict[str, str], source: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """An hour of visits, some of them with a problem, in a topic of 2 partitions. No record comes later: every run that takes
    so many in a batch cuts the same batches."""
    sender = Project(tmp_path_factory.mktemp("sender"))
    sender.configure(f'[kafka]\nbootstrap_servers = "{kafka["bootstrap.servers"]}"')
    sender.ok("generate", source, "--seed", "13", "--count", str(RECORDS), "--spacing", "6s", "--visitors", "40", "--bad", "2%")
    for partition in "01":
        sender.ok("produce", source, "--partition", partition, text=CLOSING)
    return source


@pytest.fixture(scope="module")
def make(
    kafka: dict[str, str], visits: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str, str], Project]]:
    """Projects that read the same visits; each has topics of its own for results."""
    projects = []

    def make(name: str, spark: str) -> Project:
        project = Project(tmp_path_factory.mktemp(name))
        # The lake's batches are the fastest: it needs more of them to be in one as long as the others.
        pipelines = f'[pipeline.visits-lake]\ntopics.source = "{visits}"\nmax_offsets = 60\n' + "".join(
            f'[pipeline.{one}]\ntopics = {{ source = "{visits}", sink = "{_results(project, one)}" }}\nmax_offsets = 100\n'
            for one in STATEFUL
        )
        settings = f'[kafka]\nbootstrap_servers = "{kafka["bootstrap.servers"]}"\n{pipelines}{spark}'
        (project.directory / "anabranch.toml").write_text(settings, encoding="utf-8")
        projects.append(project)
        return project

    yield make
    for project in projects:
        project.end()


@pytest.fixture(scope="module")
def project(make: Callable[[str, str], Project], cluster: SparkCluster, python: Path) -> Project:
    return make("on-a-cluster", cluster_settings(cluster, python))


def _results(project: Project, pipeline: str) -> str:
    return f"{pipeline}-{project.directory.name}"


def _latest(topics: KafkaAdmin, topic: str) -> dict[str, str]:
    found = latest_by_key(read_records(topics, topic))
    return {str(key): record.value_text for key, record in found.items()}


def _checkpoint(project: Project, name: str) -> CheckpointLocation:
    opened = open_project(project.directory)
    return opened.checkpoint(opened.pipeline(find_pipeline(BUILTIN.pipelines, name)))


def _await(running: Running, holds: Callable[[], bool]) -> None:
    """What a checkpoint shows has no event to await; the end of the run is one."""
    deadline_s = monotonic() + PATIENCE_S
    while not holds():
        assert monotonic() < deadline_s, "\n".join(running.err)
        with pytest.raises(subprocess.TimeoutExpired):
            running.process.wait(0.02)


def _in_a_batch(project: Project, names: tuple[str, ...]) -> bool:
    """Each has planned a batch that is not committed."""
    for name in names:
        logs = read_logs(_checkpoint(project, name).storage())
        if logs.newest is None or logs.newest in logs.commits:
            return False
    return True


def _committed(project: Project, name: str) -> int:
    newest = read_logs(_checkpoint(project, name).storage()).commits.newest
    return -1 if newest is None else newest


def _kill_in_a_batch(project: Project, running: Running, victims: list[psutil.Process]) -> None:
    """While a batch without state and batches with state are under way; then waits until each has gone on."""
    every = (*STATELESS, *STATEFUL)
    _await(running, lambda: _in_a_batch(project, every))
    for victim in victims:
        victim.suspend()
    reached = {name: _committed(project, name) for name in every}
    for victim in victims:
        victim.kill()
    _await(running, lambda: all(_committed(project, name) > reached[name] for name in every))


@pytest.fixture(scope="module")
def partitions_chosen(project: Project) -> str:
    """The command that a first start with state is told, which it is refused without."""
    refused = project("run", "visits-counter")
    assert (refused.returncode, "refused[partitions-not-chosen]" in refused.stderr) == (3, True), refused.stderr
    assert "gives it 2 cores" in refused.stderr
    assert _left(project) == []
    return remedies(refused.stderr)[0].partition("   ")[0]


def test_a_first_start_with_state_is_told_how_to_choose_its_partitions(partitions_chosen: str, cluster: SparkCluster) -> None:
    """The next test does as it says."""
    assert partitions_chosen == f"anabranch run visits-counter --master {cluster.master} --set spark.sql.shuffle.partitions=2"


def _left(project: Project) -> list[str]:
    """Files that a run leaves in a project, but for its logs, and what is sent to executors."""
    home = project.directory / ".anabranch"
    found = (path.relative_to(home) for path in home.rglob("*") if path.is_file())
    return sorted(str(path) for path in found if path.parts[0] not in ("logs", "tmp", "project.json"))


@pytest.mark.crash
def test_what_is_killed_in_the_middle_of_batches_changes_no_result(
    project: Project,
    partitions_chosen: str,
    cluster: SparkCluster,
    make: Callable[[str, str], Project],
    topics: KafkaAdmin,
    visits: str,
) -> None:
    running = project.start(*shlex.split(partitions_chosen)[1:], "visits-sessions", "visits-lake")
    first, second = (psutil.Process(process.pid) for process in cluster.processes[1:3])
    _kill_in_a_batch(project, running, executors_of(first.pid)[:1])
    _kill_in_a_batch(project, running, [second, *executors_of(second.pid)])
    for process in [first, *executors_of(first.pid)]:
        process.kill()
    running.await_line("visits-counter: waiting .* no executor left")
    cluster.add_worker("worker-3")
    running.await_line("visits-counter: running")
    _await(running, lambda: _in_a_batch(project, (*STATELESS, *STATEFUL)))
    running.process.kill()
    running.await_end()
    cluster.add_worker("worker-4")
    chosen = ("--set", "spark.sql.shuffle.partitions=2")
    resumed = project.start("run", *STATELESS, *STATEFUL, *chosen, "--until-caught-up")
    for name in (*STATEFUL, *STATELESS):
        # One after the other: each has the patience of a command.
        _await_stopped(resumed, name)
    assert resumed.await_end() == 0

    # On one machine, as the remedy of a cluster that is not there says.
    alone = make("on-one-machine", '[spark]\nmaster = "spark://127.0.0.1:1"\n')
    refused = alone("run", *STATEFUL)
    assert (refused.returncode, "error[master-unreachable]" in refused.stderr) == (1, True), refused.stderr
    here = re.search(r"--master '(.*?)'", refused.stderr)
    assert here is not None
    alone.ok("run", *STATEFUL, "--master", here[1], *chosen, "--until-caught-up")

    for name in STATEFUL:
        results = _latest(topics, _results(project, name))
        assert results == _latest(topics, _results(alone, name)), name
        assert len(results) > 3
    assert _offsets(project) == [
        (partition, offset) for partition, held in sorted(topics.offset_ranges(visits).items()) for offset in range(held.end)
    ]
    # Also the executor that was lost with the output of a stage has not counted its records twice.
    for name in (*STATELESS, *STATEFUL):
        entry = newest_entry(_checkpoint(project, name))
        assert entry is not None
        assert (name, entry.total_records) == (name, RECORDS + 2)


def _await_stopped(running: Running, name: str) -> None:
    """Whichever was first: a line that is awaited skips those before it."""
    if not any(line.startswith(f"{name}: stopped") for line in running.err):
        running.await_line(f"{name}: stopped")


def _offsets(project: Project) -> list[tuple[int, int]]:
    rows = DeltaTable(project.directory / ".anabranch" / "lake" / "visits").to_pyarrow_table(columns=["partition", "offset"])
    return sorted((row["partition"], row["offset"]) for row in rows.to_pylist())


def test_windows_are_recomputed_on_the_cluster(project: Project, topics: KafkaAdmin, kafka: dict[str, str]) -> None:
    topic = _results(project, "visits-counter")
    right = _latest(topics, topic)
    wrong = sorted(right)[1:3]
    GroupProducer(kafka, topic).send([(key.encode(), b'{"count": 0}') for key in wrong])
    assert _latest(topics, topic) != right
    said = project.ok("reprocess", "visits-counter", "--from", "2025-09-04T07:00Z", "--to", "2025-09-04T08:00Z", "--yes")
    assert _latest(topics, topic) == right, said


def test_a_pipeline_of_ones_own_runs_there_with_the_modules_beside_its_file(
    kafka: dict[str, str], topics: KafkaAdmin, cluster: SparkCluster, python: Path, tmp_path: Path
) -> None:
    """The executors could import neither: they get what they run by value."""
    settings = f'{cluster_settings(cluster, python)}sql.shuffle.partitions = "2"\n'
    shop = Shop(tmp_path / "shop", kafka["bootstrap.servers"], topics, settings)
    shop.project.ok("run", "customers", "large-orders", "--until-caught-up", "--max-offsets", "40")
    assert {one["customer"]: one["orders"] for one in shop.results("customers").values()} == {"a": 30, "b": 30}
    assert shop.large() == sorted(f"o{i}" for i in range(20, 60))


def test_a_path_that_an_executor_does_not_see_is_refused_until_it_is_shared(
    make: Callable[[str, str], Project], cluster: SparkCluster, python: Path, tmp_path: Path
) -> None:
    """A worker as on another host: in its own mount namespace there is nothing where the project is."""
    project = make("not-shared", cluster_settings(cluster, python))
    hide = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", 'mount -t tmpfs none "$0" && exec "$@"')
    worker = cluster.add_worker("elsewhere", prefix=(*hide, str(project.directory)))
    try:
        refused = project("run", "visits-lake", "--until-caught-up")
        assert (refused.returncode, "refused[path-not-shared]" in refused.stderr) == (3, True), refused.stderr
        assert [name for name in _left(project) if not name.endswith(("baseline.json", "definition.json"))] == []
        assert list(project.directory.rglob("*anabranch-mark*")) == []
        (way,) = remedies(refused.stderr)
        assert "mv PROJECT /shared/PROJECT" in way
        # As mv does it between two file systems: renamed, the directory would take the worker's mount along.
        project.directory = shutil.copytree(project.directory, tmp_path / "shared")
        project.ok("run", "visits-lake", "--until-caught-up", "--max-offsets", "2000")
        assert len(_offsets(project)) >= RECORDS
    finally:
        for process in [*executors_of(worker.pid), worker]:
            process.kill()


def test_a_wait_for_resources_is_said_and_ends_with_ctrl_c(project: Project) -> None:
    running = project.start("run", "visits-lake", "--set", "spark.executor.memory=100g")
    line = running.await_line("no executor yet")
    assert "100g" in line
    assert "Ctrl-C" in line
    running.process.send_signal(2)
    assert (running.await_end(), [one for one in running.err if "error[" in one]) == (130, [])
    assert list(project.directory.rglob("*anabranch-mark*")) == []
    assert {one["running"] for one in json.loads(project.ok("status", "--json"))["pipelines"]} <= {None}


def test_executors_without_our_python_are_named_before_a_batch_needs_it(
    project: Project, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = bare_python(tmp_path_factory.mktemp("other"))
    (packages,) = other.parents[1].glob("lib/python3*/site-packages")
    (packages / "sitecustomize.py").write_text(OTHER_VERSION, encoding="utf-8")
    done = project("run", "visits-lake", "--until-caught-up", "--set", f"spark.pyspark.python={other}")
    assert (done.returncode, "error[executor-python-differs]" in done.stderr) == (1, True), done.stderr
    assert "executors run Python 3.9" in done.stderr
    assert "pyspark.python = " in remedies(done.stderr)[0]
