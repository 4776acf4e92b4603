"""A real Spark cluster on loopback: a master and workers from pip's PySpark, each a process of its own, stopped by its id."""

from __future__ import annotations

import os
import socket
import subprocess
import venv
from pathlib import Path
from time import monotonic

import psutil

from anabranch.spark.jars import pyspark_home
from anabranch.spark.session import SHORT_RUN_OPTIONS
from tests.support.harness import PATIENCE_S


class SparkCluster:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.processes: list[subprocess.Popen[bytes]] = []
        port = _free_port()
        self.master = f"spark://127.0.0.1:{port}"
        (directory / "master.conf").write_text("spark.master.rest.enabled false\n", encoding="utf-8")
        where = ("--host", "127.0.0.1", "--webui-port", "0")
        self._start("master", "master.Master", *where, "--port", str(port), "--properties-file", "master.conf")
        self._await_log("master", "New state: ALIVE")

    def add_worker(self, name: str, *, prefix: tuple[str, ...] = ()) -> psutil.Process:
        """Of one core. `prefix`: in front of its command."""
        work_dir = self.directory / name
        options = ("--host", "127.0.0.1", "--webui-port", "0", "-c", "1", "-m", "512m", "-d", str(work_dir), self.master)
        process = self._start(name, "worker.Worker", *options, prefix=prefix)
        self._await_log(name, "Successfully registered with master")
        return psutil.Process(process.pid)

    def _start(self, name: str, role: str, *options: str, prefix: tuple[str, ...] = ()) -> subprocess.Popen[bytes]:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        environment |= {"SPARK_HOME": str(pyspark_home()), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "128m"}
        with (self.directory / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                [*prefix, str(pyspark_home() / "bin" / "spark-class"), f"org.apache.spark.deploy.{role}", *options],
                cwd=self.directory,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**environment, "SPARK_DAEMON_JAVA_OPTS": SHORT_RUN_OPTIONS},
                start_new_session=True,
            )
        self.processes.append(process)
        return process

    def _await_log(self, name: str, line: str) -> None:
        path, process, deadline_s = self.directory / f"{name}.log", self.processes[-1], monotonic() + PATIENCE_S
        while line not in path.read_text(encoding="utf-8"):
            assert process.poll() is None, path.read_text(encoding="utf-8")
            assert monotonic() < deadline_s, path.read_text(encoding="utf-8")
            try:
                # A log has no event to await; the end of the process is one.
                process.wait(0.1)
            except subprocess.TimeoutExpired:
                continue

    def stop(self) -> None:
        """Workers first; executors end with them."""
        for process in reversed(self.processes):
            for executor in executors_of(process.pid):
                executor.kill()
            process.kill()
            process.wait()


def executors_of(worker_pid: int) -> list[psutil.Process]:
    try:
        children = psutil.Process(worker_pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []
    return [child for child in children if child.name() == "java"]


def bare_python(directory: Path) -> Path:
    """A Python environment that has what Spark needs, and not our package: executors get that from the driver."""
    venv.create(directory, symlinks=True)
    packages = pyspark_home().parent
    (own,) = (directory / "lib").glob("python3*/site-packages")
    # A directory that is named in a .pth file is searched; the .pth files in it, of an editable install, are not read.
    (own / "packages.pth").write_text(f"{packages}\n", encoding="utf-8")
    return directory / "bin" / "python"


def cluster_settings(cluster: SparkCluster, python: Path) -> str:
    """The [spark] section: everything on loopback."""
    lines = {
        "master": cluster.master,
        "pyspark.python": str(python),
        "driver.host": "127.0.0.1",
        "driver.bindAddress": "127.0.0.1",
        "executor.memory": "512m",
        # With a core for each executor a task that waits for its own waits for another pipeline's.
        "locality.wait": "100ms",
        "executor.extraJavaOptions": SHORT_RUN_OPTIONS,
        "driver.extraJavaOptions": SHORT_RUN_OPTIONS,
    }
    return "[spark]\n" + "".join(f'{name} = "{value}"\n' for name, value in lines.items())


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
