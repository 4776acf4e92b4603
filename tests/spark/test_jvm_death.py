"""Spark's JVM dies under a command, as by a system short of memory: one message says so, and leases are free."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from anabranch.kafka.admin import KafkaAdmin
from anabranch.spark.jvm import death
from tests.support.harness import Project

SEVEN = ("--from", "2025-09-04T07:00Z", "--to", "2025-09-04T07:10Z")


@pytest.fixture(scope="module")
def project(kafka: dict[str, str], topics: KafkaAdmin, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A counter that has state, and a lake."""
    project, source = Project(tmp_path_factory.mktemp("death")), "visits-of-a-dying-jvm"
    topics.create(source, 1)
    names = ("visits-lake", "visits-counter")
    pipelines = "".join(f'[pipeline.{name}]\ntopics = {{ source = "{source}" }}\n' for name in names)
    project.configure(f'[kafka]\nbootstrap_servers = "{kafka["bootstrap.servers"]}"\n{pipelines}')
    visits = [json.dumps({"visit_id": 1, "event_time": f"2025-09-04T{time}:00Z"}) for time in ("07:00", "07:01", "09:00")]
    project.ok("produce", source, text="\n".join(visits))
    project.ok("run", *names, "--until-caught-up")
    yield project
    project.end()


def _kill_jvm(pid: int) -> None:
    (jvm,) = (child for child in psutil.Process(pid).children() if child.name() == "java")
    jvm.kill()


@pytest.mark.kafka
@pytest.mark.parametrize(
    ("command", "moment", "then"),
    [
        (("run", "visits-counter"), "visits-counter: running", "anabranch run visits-counter   resumes"),
        (("checkpoint", "visits-counter", "--state"), "Reading the state", ""),
        (("reprocess", "visits-counter", *SEVEN, "--dry-run"), "Recomputing 1 window", ""),
    ],
    ids=["run", "state", "reprocess"],
)
def test_a_killed_jvm_is_called_that_and_nothing_else_is_said(
    project: Project, command: tuple[str, ...], moment: str, then: str
) -> None:
    running = project.start(*command)
    running.await_line(moment)
    _kill_jvm(running.process.pid)
    assert running.await_end() == 1
    said = "\n".join(running.err)
    assert "error[jvm-killed]" in said
    assert "SIGKILL" in said
    assert 'driver.memory = "' in said
    assert str(project.directory / ".anabranch" / "logs") in said
    assert then in said
    assert not any(word in said for word in ("Traceback", "py4j", "Py4J", "ConnectionRefused", "ERROR:")), said
    assert {one["running"] for one in json.loads(project.ok("status", "--json"))["pipelines"]} == {None}


@pytest.mark.kafka
def test_java_that_runs_out_of_memory_ends_the_run_with_the_setting_to_raise(project: Project) -> None:
    """The second setting takes away Spark's own check of the first, which is far too small."""
    small = ("--set", "spark.driver.memory=48m", "--set", "spark.testing.memory=500000000")
    done = project("run", "visits-counter", *small)
    assert (done.returncode, "error[jvm-out-of-memory]" in done.stderr) == (1, True), done.stderr
    assert 'driver.memory = "2g"' in done.stderr
    assert "Traceback" not in done.stderr
    refused = project("run", "visits-counter", *small[:2])
    assert (refused.returncode, "error[spark-not-started]" in refused.stderr) == (1, True), refused.stderr
    assert "INVALID_DRIVER_MEMORY" in refused.stderr


@pytest.mark.parametrize(
    ("exit_code", "code"),
    [(-9, "jvm-killed"), (-11, "jvm-killed"), (3, "jvm-out-of-memory"), (52, "jvm-out-of-memory"), (1, "jvm-ended")],
)
def test_the_exit_code_of_a_jvm_tells_how_it_ended(exit_code: int, code: str) -> None:
    error = death(7, exit_code, Path("run.log"), "what to do next")
    assert (error.code, "what to do next" in error.remedies, "full log: run.log" in error.remedies) == (code, True, True)
