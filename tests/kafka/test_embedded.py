"""The embedded broker through its commands: start, status, stop, and a kill."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.harness import Project

pytestmark = pytest.mark.kafka


@pytest.fixture
def project(make_project: Callable[[str], Project]) -> Iterator[Project]:
    """A project without settings, which uses its own broker."""
    project = make_project("alone")
    yield project
    project.ok("broker", "stop")


def _address(project: Project) -> str:
    return str(json.loads(project.ok("broker", "status", "--json"))["address"])


def _pid(project: Project) -> int:
    return int(json.loads(project.ok("broker", "status", "--json"))["pid"])


def test_a_broker_starts_on_a_free_port_is_found_stops_and_keeps_its_data(project: Project) -> None:
    project.ok("broker", "start", "--port", "0")
    address, pid = _address(project), _pid(project)
    assert address.startswith("127.0.0.1:")
    # What others would read there: all records.
    assert stat.S_IMODE((project.directory / ".anabranch").stat().st_mode) == 0o700
    project.ok("topics", "create", "visits", "--partitions", "1")
    project.ok("produce", "visits", text="first\n")

    project.ok("broker", "start", "--port", "0")
    assert (_address(project), _pid(project)) == (address, pid)

    project.ok("broker", "stop")
    assert project("broker", "status").returncode == 1
    project.ok("broker", "stop")
    without = project("topics")
    assert without.returncode == 1
    assert "anabranch broker start" in without.stderr

    project.ok("broker", "start", "--port", "0")
    assert project.ok("consume", "visits") == "first\n"


def test_a_killed_broker_starts_again_with_every_acknowledged_record(project: Project) -> None:
    project.ok("broker", "start", "--port", "0")
    project.ok("topics", "create", "visits", "--partitions", "1")
    project.ok("produce", "visits", text="kept\n")
    os.kill(_pid(project), signal.SIGKILL)
    psutil.wait_procs([p for p in psutil.process_iter() if p.pid == _broker_file(project)["mark"]["pid"]], timeout=30)
    assert project("broker", "status").returncode == 1

    project.ok("broker", "start", "--port", "0")
    assert project.ok("consume", "visits") == "kept\n"


def test_another_process_with_the_same_id_is_not_the_broker(project: Project) -> None:
    home = project.directory / ".anabranch" / "broker"
    home.mkdir(parents=True)
    mark = {"pid": os.getpid(), "created_s": 1.0}
    (home / "broker.json").write_text(json.dumps({"mark": mark, "port": 9, "since_s": 1.0}))
    assert project("broker", "status").returncode == 1
    project.ok("broker", "stop")
    assert psutil.pid_exists(os.getpid())


@pytest.mark.parametrize("content", ["", "{", "[]", '{"mark": 5}', '{"mark": {"pid": "x"}}'])
def test_a_damaged_broker_file_is_named_and_not_overwritten(project: Project, content: str) -> None:
    home = project.directory / ".anabranch" / "broker"
    home.mkdir(parents=True)
    (home / "broker.json").write_text(content)
    for command in ("status", "start"):
        done = project("broker", command)
        assert (done.returncode, "[file-damaged]" in done.stderr) == (1, True), done.stderr
    assert (home / "broker.json").read_text() == content
    (home / "broker.json").unlink()


def test_a_running_broker_is_found_by_its_lock_and_never_gets_a_second(project: Project) -> None:
    """Beside a record that is missing, damaged or stale."""
    project.ok("broker", "start", "--port", "0")
    address, record = _address(project), _broker_file(project)
    path = project.directory / ".anabranch" / "broker" / "broker.json"
    stale = json.dumps({**record, "mark": {**record["mark"], "pid": os.getpid()}})
    for content in ("", "{", '{"mark": 5}', stale, None):
        path.unlink()
        if content is not None:
            path.write_text(content, encoding="utf-8")
        assert (_address(project), _pid(project)) == (address, record["mark"]["pid"])
        started = project("broker", "start", "--port", "0")
        assert (started.returncode, "already running" in started.stderr) == (0, True), started.stderr
        assert (_broker_file(project)["mark"]["birth"], _broker_file(project)["port"]) == (
            record["mark"]["birth"],
            record["port"],
        )
    # Only of a newer version it is not known what it means.
    newer = json.dumps({**record, "format": 99})
    path.write_text(newer, encoding="utf-8")
    for command in ("status", "start", "stop"):
        done = project("broker", command)
        assert (done.returncode, "refused[format-newer]" in done.stderr) == (3, True), done.stderr
    assert path.read_text(encoding="utf-8") == newer
    path.unlink()
    # A command that needs Kafka finds it, and it is stopped as it is found.
    project.ok("topics", "create", "visits")
    project.ok("broker", "stop")
    assert not psutil.pid_exists(record["mark"]["pid"])


def test_a_port_in_use_is_an_error_with_the_process_that_uses_it(project: Project) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        refused = project("broker", "start", "--port", str(taken.getsockname()[1]))
    assert (refused.returncode, "[port-unavailable]" in refused.stderr) == (1, True), refused.stderr
    assert f"process {os.getpid()} " in refused.stderr
    assert "anabranch broker start --port 0" in refused.stderr


def test_the_broker_listens_on_loopback_only(project: Project) -> None:
    project.ok("broker", "start", "--port", "0")
    listening = [c for c in psutil.Process(_pid(project)).net_connections("tcp") if c.status == psutil.CONN_LISTEN]
    assert {c.laddr.ip.removeprefix("::ffff:") for c in listening} == {"127.0.0.1"}


def _broker_file(project: Project) -> dict[str, Any]:
    path: Path = project.directory / ".anabranch" / "broker" / "broker.json"
    return dict(json.loads(path.read_text()))
