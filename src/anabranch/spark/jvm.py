"""Launches the JVM that PySpark connects to. PySpark's own launch script lacks what this one does:

* the JVM dies with its driver: a JVM that outlives a killed driver keeps writing batches (docs/internals/hazards.md, D);
* Ctrl-C in the terminal does not reach the JVM, so the current batch can finish;
* its output goes to a log file, and it starts from a class-data archive if there is one, in half the time.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Timer

from anabranch.errors import Failed
from anabranch.spark.jars import pyspark_home
from anabranch.spark.java import Java
from anabranch.spark.messages import JVM_ENDED, JVM_EXITED, JVM_KILLED, JVM_OUT_OF_MEMORY

# The options of Spark 4.2's own launcher (JavaModuleOptions): Spark uses reflection on these packages of Java.
_OPENED = (
    "lang",
    "lang.invoke",
    "lang.reflect",
    "io",
    "net",
    "nio",
    "util",
    "util.concurrent",
    "util.concurrent.atomic",
)
_OPENED_INTERNAL = ("jdk.internal.ref", "sun.nio.ch", "sun.nio.cs", "sun.security.action", "sun.util.calendar")
_MODULE_OPTIONS = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    "--add-modules=jdk.incubator.vector",
    *(f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in _OPENED),
    *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED_INTERNAL),
    "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "--sun-misc-unsafe-memory-access=allow",
    "--enable-native-access=ALL-UNNAMED",
    "-Djdk.reflect.useDirectMethodHandle=false",
)
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of prctl(2)
# Of -XX:+ExitOnOutOfMemoryError, and of Spark's own handler (SparkExitCode.OOM).
_OUT_OF_MEMORY = (3, 52)
# A JVM that ends closes its connections, on which a call then fails, a moment before its exit code is known.
_GONE_S = 1.0


@dataclass(frozen=True)
class Jvm:
    process: subprocess.Popen[bytes]
    log_file: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    @contextmanager
    def blamed(self, then: str = "") -> Iterator[None]:
        """What fails in the block because the JVM has ended is said to be that; `then` is what to do next."""
        try:
            yield
        except Exception:
            if (exit_code := self._exit_code()) is None:
                raise
            raise death(self.pid, exit_code, self.log_file, then) from None

    def _exit_code(self) -> int | None:
        try:
            return self.process.wait(_GONE_S)
        except subprocess.TimeoutExpired:
            return None

    @contextmanager
    def killed_after(self, timeout_s: float) -> Iterator[None]:
        """Kills it unless the block has ended by then."""
        watchdog = Timer(timeout_s, self.process.kill)
        watchdog.daemon = True
        watchdog.start()
        try:
            yield
        finally:
            watchdog.cancel()

    def end(self) -> None:
        """Closes its standard input: Spark's gateway exits then."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def launch_jvm(java: Java, jars: Sequence[Path], options: Sequence[str], environment: Mapping[str, str], log_file: Path) -> Jvm:
    """A JVM that runs Spark's gateway. PySpark in this process finds it through the environment."""
    classpath = os.pathsep.join([f"{pyspark_home()}/jars/*", *map(str, jars)])
    command = [
        str(java.path),
        *_MODULE_OPTIONS,
        *options,
        "-cp",
        classpath,
        "org.apache.spark.deploy.SparkSubmit",
        "pyspark-shell",
    ]
    with TemporaryDirectory(prefix="anabranch-") as directory, log_file.open("ab") as log:
        answer = Path(directory) / "gateway"
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env={**os.environ, **environment, "_PYSPARK_DRIVER_CONN_INFO_PATH": str(answer)},
            start_new_session=True,
            preexec_fn=_die_with_parent(),
        )
        _await_gateway(process, answer, log_file)
        content = answer.read_bytes()
    # Written by Java's DataOutputStream: the port, the length of the secret, and the secret.
    os.environ["PYSPARK_GATEWAY_PORT"] = str(int.from_bytes(content[:4], "big"))
    os.environ["PYSPARK_GATEWAY_SECRET"] = content[8:].decode()
    return Jvm(process, log_file)


def death(pid: int, exit_code: int, log_file: Path, then: str) -> Failed:
    """What the exit code of a JVM that was in use means."""
    about = {"pid": pid, "log": str(log_file), "then": then}
    if exit_code < 0:
        return JVM_KILLED(**about, signal=signal.Signals(-exit_code).name)
    if exit_code in _OUT_OF_MEMORY:
        return JVM_OUT_OF_MEMORY(**about)
    return JVM_ENDED(**about, exit_code=exit_code)


def _await_gateway(process: subprocess.Popen[bytes], answer: Path, log_file: Path) -> None:
    while not answer.exists():
        try:
            process.wait(0.02)
        except subprocess.TimeoutExpired:
            continue
        if process.returncode < 0 or process.returncode in _OUT_OF_MEMORY:
            raise death(process.pid, process.returncode, log_file, "")
        raise JVM_EXITED(log=str(log_file))


def _die_with_parent() -> Callable[[], object] | None:
    """Linux kills the child as soon as its parent dies. Elsewhere the closed standard input ends it within seconds."""
    if sys.platform != "linux":
        return None
    # Loaded here: nothing may be looked up between fork and exec.
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    return lambda: prctl(_DIE_WITH_PARENT, signal.SIGKILL)
