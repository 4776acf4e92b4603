"""Starts, finds and stops the project's broker. One file says which process it is and where it listens.

That file is a claim, not a fact: a broker counts as running only if that very process lives.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import monotonic
from uuid import uuid4

import psutil
from filelock import FileLock

from anabranch.errors import Failed
from anabranch.kafka.admin import answers
from anabranch.kafka.embedded.configuration import HEAP, HOST, log_configuration, server_properties
from anabranch.processes import ProcessMark, mark_of
from anabranch.spark.jars import locked
from anabranch.spark.java import find_java
from anabranch.storage.files import read_json, write_whole

# It answers after 2 to 3 s on 2 cores; a recovery after kill -9 of a large log takes longer.
START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class RunningBroker:
    mark: ProcessMark
    port: int
    since_s: float

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"


def embedded_version() -> str:
    """A client cannot ask a broker of Kafka 4 for its version; of our own we know it."""
    return next(jar.version for jar in locked("broker") if jar.artifact == "kafka_2.13")


def find_broker(broker_dir: Path) -> RunningBroker | None:
    """The broker of a project, if its process lives. A stale file, or a foreign process with that id, is no broker."""
    claim = read_json(broker_dir / "broker.json")
    if claim is None:
        return None
    try:
        broker = RunningBroker(ProcessMark(**claim["mark"]), int(claim["port"]), float(claim["since_s"]))
    except (KeyError, TypeError, ValueError):
        return None
    return broker if broker.mark.is_alive() else None


def start_broker(broker_dir: Path, port: int, jars: Sequence[Path]) -> tuple[RunningBroker, bool]:
    """The running broker, and whether this call started it. Returns when the broker answers."""
    broker_dir.mkdir(parents=True, exist_ok=True)
    with FileLock(broker_dir / "start.lock"):
        if (running := find_broker(broker_dir)) is not None:
            return running, False
        port = port or _free_port()
        refuse_taken(port)
        process = _launch(broker_dir, port, jars)
        mark = mark_of(process.pid)
        broker = RunningBroker(mark, port, mark.created_s)
        write_whole(broker_dir / "broker.json", json.dumps(asdict(broker)))
        _await_answer(broker, process, broker_dir)
        # It is meant to outlive this process; Python would warn of a child that it takes for still running.
        process.returncode = 0
        return broker, True


def stop_broker(broker_dir: Path) -> RunningBroker | None:
    """The broker that was stopped, None if none ran. Returns when its process has ended."""
    broker = find_broker(broker_dir)
    if broker is not None and (process := broker.mark.process()) is not None:
        process.terminate()
        if not broker.mark.wait_gone(STOP_TIMEOUT_S):
            raise Failed(
                f"the broker (process {broker.mark.pid}) has not ended within {STOP_TIMEOUT_S:.0f} s.",
                f"its log: {_log_file(broker_dir)}",
                f"kill -9 {broker.mark.pid}   (what was acknowledged is kept)",
            )
    (broker_dir / "broker.json").unlink(missing_ok=True)
    return broker


def _launch(broker_dir: Path, port: int, jars: Sequence[Path]) -> subprocess.Popen[bytes]:
    data_dir, properties, log_file = broker_dir / "data", broker_dir / "server.properties", _log_file(broker_dir)
    log_file.parent.mkdir(exist_ok=True)
    properties.write_text(server_properties(port, _free_port(), data_dir), encoding="utf-8")
    (broker_dir / "log4j2.properties").write_text(log_configuration(log_file), encoding="utf-8")
    java = [
        *(str(find_java().path), f"-Xmx{HEAP}", f"-Xms{HEAP}", "-cp", os.pathsep.join(map(str, jars))),
        f"-Dlog4j2.configurationFile={broker_dir / 'log4j2.properties'}",
        # One compiler, the quick one: starts sooner, and a broker on a laptop is never at its limit.
        "-XX:TieredStopAtLevel=1",
    ]
    with (broker_dir / "logs" / "output.log").open("ab") as output:
        if not (data_dir / "meta.properties").exists():
            _format(java, properties, output)
        # A session of its own: Ctrl-C in the terminal that started it is not meant for it.
        return subprocess.Popen(
            [*java, "kafka.Kafka", str(properties)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=sys.platform != "win32",
        )


def _format(java: Sequence[str], properties: Path, output: object) -> None:
    cluster_id = _cluster_id()
    command = [
        *java,
        "kafka.tools.StorageTool",
        "format",
        "-t",
        cluster_id,
        "-c",
        str(properties),
        "--ignore-formatted",
    ]
    done = subprocess.run(command, stdout=output, stderr=output, check=False)  # type: ignore[call-overload]
    if done.returncode != 0:
        raise Failed(f"Kafka could not format {properties.parent / 'data'}.", f"why: {properties.parent}/logs/output.log")


def _cluster_id() -> str:
    """As Kafka makes them: 16 random bytes in URL-safe base64, not starting with a dash."""
    from base64 import urlsafe_b64encode

    return "a" + urlsafe_b64encode(uuid4().bytes).decode().rstrip("=")[1:]


def _await_answer(broker: RunningBroker, process: subprocess.Popen[bytes], broker_dir: Path) -> None:
    deadline_s = monotonic() + START_TIMEOUT_S
    while monotonic() < deadline_s:
        if answers(broker.address, timeout_s=0.5):
            return
        if process.poll() is not None:
            raise Failed(f"the broker ended at its start: {_last_error(broker_dir)}", f"its log: {_log_file(broker_dir)}")
    process.terminate()
    raise Failed(
        f"the broker did not answer on {broker.address} within {START_TIMEOUT_S:.0f} s and was stopped.",
        f"its log: {_log_file(broker_dir)}",
    )


def _last_error(broker_dir: Path) -> str:
    """The last line of Kafka's log that says ERROR, without its class names."""
    try:
        lines = _log_file(broker_dir).read_text(encoding="utf-8", errors="replace").splitlines()[-400:]
    except FileNotFoundError:
        lines = []
    errors = [line for line in lines if re.match(r"\S+ (ERROR|FATAL) ", line)]
    return errors[-1].split(" ", 3)[-1][:200] if errors else "it said nothing."


def _log_file(broker_dir: Path) -> Path:
    return broker_dir / "logs" / "broker.log"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def refuse_taken(port: int) -> None:
    with socket.socket() as probe:
        # As Kafka binds: a port that only waits out its last connections is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            who = _listener(port)
            raise Failed(
                f"port {port} on {HOST} cannot be used: {who or error.strerror}.",
                "anabranch broker start --port 0   takes a free one",
            ) from None


def _listener(port: int) -> str | None:
    try:
        connections = psutil.net_connections("tcp")
    except psutil.AccessDenied:
        return None
    for connection in connections:
        if connection.status == psutil.CONN_LISTEN and connection.laddr and connection.laddr.port == port and connection.pid:
            return f"process {connection.pid} ({psutil.Process(connection.pid).name()}) listens there"
    return None
