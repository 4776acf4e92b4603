"""Starts, finds and stops the project's broker. broker.json records its process and the port it listens on.

The record alone proves nothing: a broker is running only if exactly that process is alive. Where it names none that is, Kafka's
own lock on the data decides: there is never a second broker on it.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from base64 import urlsafe_b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import BinaryIO
from uuid import uuid4

import psutil
from filelock import FileLock

from anabranch.errors import Failed, Reason
from anabranch.kafka.admin import answers
from anabranch.kafka.embedded.configuration import HEAP, HOST, log_configuration, port_of, server_properties
from anabranch.kafka.embedded.data_lock import running_on
from anabranch.kafka.messages import (
    BROKER_EXITED,
    BROKER_LOGGED_NO_ERROR,
    BROKER_NOT_ANSWERING,
    BROKER_NOT_FORMATTED,
    BROKER_NOT_STOPPED,
    BROKER_PORT_UNKNOWN,
    PORT_IN_USE,
    PORT_UNAVAILABLE,
)
from anabranch.spark.jars import locked
from anabranch.spark.java import find_java
from anabranch.storage.files import Format, make_directory, read_text, remove
from anabranch.storage.lease import ProcessMark, mark_of
from anabranch.storage.messages import FILE_DAMAGED

# A start takes 2 to 3 s on 2 cores. Recovering a large log after kill -9 takes longer.
START_TIMEOUT_S = 60.0
# A clean stop flushes every log to disk first, so that the next start needs no recovery.
STOP_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class RunningBroker:
    mark: ProcessMark
    port: int
    since_s: float

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"


BROKER = Format("broker", 1, RunningBroker)


def embedded_version() -> str:
    """From the jars: a Kafka 4 broker does not report its version to clients."""
    return next(jar.version for jar in locked("broker") if jar.artifact == "kafka_2.13")


def find_broker(broker_dir: Path) -> RunningBroker | None:
    """The running broker of a project. A stale broker.json, or another process with the same id, does not count."""
    try:
        broker = BROKER.read(broker_dir / "broker.json")
    except Failed as damaged:
        if damaged.code == FILE_DAMAGED.code and (found := _found_by_lock(broker_dir)) is not None:
            return found
        raise
    return broker if broker is not None and broker.mark.is_alive() else _found_by_lock(broker_dir)


def _found_by_lock(broker_dir: Path) -> RunningBroker | None:
    pid = running_on(broker_dir / "data")
    if pid is None:
        return None
    port = port_of(read_text(broker_dir / "server.properties") or "")
    if port is None:
        raise BROKER_PORT_UNKNOWN(pid=pid, file=str(broker_dir / "server.properties"))
    mark = mark_of(pid)
    return RunningBroker(mark, port, mark.created_s)


def start_broker(
    broker_dir: Path, port: int, jars: Sequence[Path], phase: Callable[[str], None] = lambda _name: None
) -> tuple[RunningBroker, bool]:
    """The running broker, and whether this call started it. Returns once the broker answers.

    `phase` is told what is being waited for.
    """
    make_directory(broker_dir)
    phase("waiting for another start of it")
    with FileLock(broker_dir / "start.lock"):
        if (running := find_broker(broker_dir)) is not None:
            # Again: it may have been found by its lock alone.
            BROKER.write(broker_dir / "broker.json", running)
            return running, False
        port = port or _free_port()
        refuse_taken(port)
        phase("launching its JVM")
        process = _launch(broker_dir, port, jars)
        phase(f"waiting for an answer on port {port}")
        mark = mark_of(process.pid)
        broker = RunningBroker(mark, port, mark.created_s)
        BROKER.write(broker_dir / "broker.json", broker)
        _await_answer(broker, process, broker_dir)
        # The broker outlives this process. Without a return code, Python would warn about a child that still runs.
        process.returncode = 0
        return broker, True


def stop_broker(broker_dir: Path) -> RunningBroker | None:
    """The broker that was stopped; None if none was running. Returns once its process has exited."""
    broker = find_broker(broker_dir)
    if broker is not None and (process := broker.mark.process()) is not None:
        process.terminate()
        if not broker.mark.wait_gone(STOP_TIMEOUT_S):
            raise BROKER_NOT_STOPPED(pid=broker.mark.pid, timeout_s=STOP_TIMEOUT_S, log=str(_log_file(broker_dir)))
    remove(broker_dir / "broker.json")
    return broker


def _launch(broker_dir: Path, port: int, jars: Sequence[Path]) -> subprocess.Popen[bytes]:
    data_dir, properties, log_file = broker_dir / "data", broker_dir / "server.properties", _log_file(broker_dir)
    log_file.parent.mkdir(exist_ok=True)
    properties.write_text(server_properties(port, _free_port(), data_dir), encoding="utf-8")
    (broker_dir / "log4j2.properties").write_text(log_configuration(log_file), encoding="utf-8")
    java = [
        *(str(find_java().path), f"-Xmx{HEAP}", f"-Xms{HEAP}", "-cp", os.pathsep.join(map(str, jars))),
        f"-Dlog4j2.configurationFile={broker_dir / 'log4j2.properties'}",
        # Only the fast first compiler: the broker starts sooner, and one on a laptop never needs peak throughput.
        "-XX:TieredStopAtLevel=1",
    ]
    with (broker_dir / "logs" / "output.log").open("ab") as output:
        if not (data_dir / "meta.properties").exists():
            _format(java, properties, output)
        # In its own session: Ctrl-C in the terminal that started it must not stop it.
        return subprocess.Popen(
            [*java, "kafka.Kafka", str(properties)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=sys.platform != "win32",
        )


def _format(java: Sequence[str], properties: Path, output: BinaryIO) -> None:
    options = ["-t", _cluster_id(), "-c", str(properties), "--ignore-formatted"]
    done = subprocess.run([*java, "kafka.tools.StorageTool", "format", *options], stdout=output, stderr=output, check=False)
    if done.returncode != 0:
        broker_dir = properties.parent
        raise BROKER_NOT_FORMATTED(directory=str(broker_dir / "data"), log=str(broker_dir / "logs" / "output.log"))


def _cluster_id() -> str:
    """In Kafka's own format: 16 random bytes in URL-safe base64. A leading dash would be read as an option."""
    return "a" + urlsafe_b64encode(uuid4().bytes).decode().rstrip("=")[1:]


def _await_answer(broker: RunningBroker, process: subprocess.Popen[bytes], broker_dir: Path) -> None:
    deadline_s = monotonic() + START_TIMEOUT_S
    while monotonic() < deadline_s:
        if answers(broker.address, timeout_s=0.5):
            return
        if process.poll() is not None:
            raise BROKER_EXITED(reason=_last_error(broker_dir), log=str(_log_file(broker_dir)))
    process.terminate()
    raise BROKER_NOT_ANSWERING(address=broker.address, timeout_s=START_TIMEOUT_S, log=str(_log_file(broker_dir)))


def _last_error(broker_dir: Path) -> str | Reason:
    """The last ERROR or FATAL line of Kafka's log, without its class name."""
    try:
        lines = _log_file(broker_dir).read_text(encoding="utf-8", errors="replace").splitlines()[-400:]
    except FileNotFoundError:
        lines = []
    errors = [line for line in lines if re.match(r"\S+ (ERROR|FATAL) ", line)]
    return errors[-1].split(" ", 3)[-1][:200] if errors else BROKER_LOGGED_NO_ERROR()


def _log_file(broker_dir: Path) -> Path:
    return broker_dir / "logs" / "broker.log"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def refuse_taken(port: int) -> None:
    """Raises an error that names the process which listens on the port."""
    with socket.socket() as probe:
        # Kafka binds with the same option: a port with connections in TIME_WAIT is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise PORT_UNAVAILABLE(port=port, host=HOST, reason=_listener(port) or error.strerror) from None


def _listener(port: int) -> Reason | None:
    try:
        connections = psutil.net_connections("tcp")
    except psutil.AccessDenied:
        return None
    for connection in connections:
        if connection.status == psutil.CONN_LISTEN and connection.laddr and connection.laddr.port == port and connection.pid:
            return PORT_IN_USE(pid=connection.pid, name=psutil.Process(connection.pid).name())
    return None
