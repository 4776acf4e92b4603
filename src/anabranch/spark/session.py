"""The Spark session: every setting in one place, each with its reason. The project's [spark] section overrides any of them."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from anabranch.spark.class_archive import archive_options
from anabranch.spark.jars import pyspark_home
from anabranch.spark.java import find_java
from anabranch.spark.jvm import Jvm, launch_jvm
from anabranch.spark.master import check_reachable, is_local, is_standalone
from anabranch.spark.messages import MASTER_SILENT, SPARK_NOT_STARTED
from anabranch.spark.package_zip import package_zip

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STREAMING = "spark.sql.streaming"
SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
ADAPTIVE = "spark.sql.adaptive"
_LOCAL_FILES = "spark.hadoop.fs.file.impl"

SETTINGS = {
    "spark.master": "local[*]",
    "spark.app.name": "anabranch",
    # Spark listens on this machine only, unless configured otherwise.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # Spark's web UI takes memory and a port; `anabranch status` shows what matters.
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Spark describes the plan of every batch for that UI; in its usual mode a batch took 12 ms longer.
    "spark.sql.ui.explainMode": "simple",
    # Several pipelines in one application share the cores fairly.
    "spark.scheduler.mode": "FAIR",
    # Spark's default of 200 means 200 tasks for a few rows: an empty batch took 7 s.
    # The first start of a checkpoint fixes the number for its lifetime.
    SHUFFLE_PARTITIONS: "2",
    # With so few partitions there is nothing to replan between two stages: a job of two stages took 45 ms longer.
    f"{ADAPTIVE}.enabled": "false",
    # RocksDB keeps state outside the heap. With a changelog a batch writes only its changes.
    f"{STREAMING}.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    f"{STREAMING}.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Enough to rewind a day at a trigger of 15 s; Spark's default of 100 is enough for 25 minutes. docs/benchmarks.md has
    # the cost.
    f"{STREAMING}.minBatchesToRetain": "5760",
    # On a local disk, Spark's default manager starts a `chmod` and a `readlink` process for each file.
    f"{STREAMING}.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    # Hadoop's own starts a `chmod` process for each file that it creates.
    _LOCAL_FILES: "anabranch.LocalFiles",
    # PySpark would look up the line of Python that built each column, which is most of the time it takes to build a decoder.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # A stop waits for the current batch, but not indefinitely.
    f"{STREAMING}.stopTimeout": "60s",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # Delta's default of 50 means 50 tasks to read a log of a few entries.
    "spark.databricks.delta.snapshotPartitions": "2",
    # Kafka's passwords are passed as options: keeps them out of the plans that Spark logs.
    "spark.sql.redaction.options.regex": r"(?i)secret|password|token|jaas|keystore|truststore",
    "spark.redaction.regex": r"(?i)secret|password|token|jaas|access[.]?key|keystore",
}

# On a cluster Spark finds an address that executors reach by itself, partitions are many, and executors load a file system
# before they have our jar.
_LOCAL_ONLY = ("spark.driver.host", "spark.driver.bindAddress", f"{ADAPTIVE}.enabled", _LOCAL_FILES)
_MASTER, _JARS, _PYTHON, _LOCAL_DIR = "spark.master", "spark.jars", "spark.pyspark.python", "spark.local.dir"
# These settings are options of the JVM, so they apply when it is launched. 1 GB is Spark's own default.
_DRIVER_MEMORY = ("spark.driver.memory", "1g")
_DRIVER_OPTIONS = "spark.driver.extraJavaOptions"
# For a JVM that lives for a minute: Java's second compiler and a collector with threads of its own cost more than they bring.
SHORT_RUN_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
SHORT_RUN = {_DRIVER_OPTIONS: SHORT_RUN_OPTIONS}
# Far longer than Spark takes to end: only one that hangs is killed.
END_TIMEOUT_S = 30.0
# A master registers an application in a second. Spark itself may wait 30 s more where a setting wants executors first.
REGISTER_TIMEOUT_S = 45.0


@dataclass(frozen=True)
class Session:
    spark: SparkSession
    jvm: Jvm

    def end(self, timeout_s: float = END_TIMEOUT_S) -> None:
        """When nothing is left to write. A Spark that does not end in time is killed: nobody should wait for it."""
        from py4j.protocol import Py4JError
        from pyspark import SparkContext

        with self.jvm.killed_after(timeout_s), _py4j_silenced():
            with suppress(Py4JError, OSError):
                self.spark.stop()
            # Before the JVM exits: a thread that still releases a Java object would find the connection closed and print a
            # trace.
            gateway = SparkContext._gateway
            if gateway is not None:
                gateway.shutdown()  # type: ignore[no-untyped-call]
                SparkContext._gateway = SparkContext._jvm = None
            self.jvm.end()


@contextmanager
def _py4j_silenced() -> Iterator[None]:
    """py4j prints a stack trace where a JVM is killed under a call."""
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)


def start_session(
    changes: Mapping[str, str],
    *,
    zone: str,
    jars: Sequence[Path],
    scratch_dir: Path,
    log_file: Path,
    debug: bool = False,
    phase: Callable[[str], None] = lambda _name: None,
) -> Session:
    """`phase` is told what is being waited for."""
    master = master_of(changes)
    check_reachable(master)
    log_file.parent.mkdir(parents=True, exist_ok=True)
    scratch_dir.mkdir(parents=True, exist_ok=True)
    settings = {
        "spark.sql.session.timeZone": zone,
        "spark.sql.warehouse.dir": str(scratch_dir / "warehouse"),
        **(_on_this_machine(scratch_dir) if is_local(master) else {}),
        **effective_settings(changes),
    }
    python_files: list[Path] = []
    if not is_local(master):
        settings[_JARS] = ",".join([*filter(None, [settings.get(_JARS)]), *map(str, jars)])
        python_files.append(package_zip(scratch_dir))
    if not debug:
        # py4j reports each call that a dead JVM does not answer, with its trace: beside what Spark has logged, not to a person.
        logging.basicConfig(filename=log_file, encoding="utf-8")
        # They print each error with its Java stack trace, which is in the log file anyway.
        for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
            logging.getLogger(name).disabled = True
    os.environ.update(_pythons(settings))
    java = find_java()
    options = [*archive_options(java, jars), *_java_options(settings, debug)]
    phase("launching its JVM")
    jvm = launch_jvm(java, jars, options, _environment(settings, scratch_dir, python_files), log_file)
    phase(f"registering at {master}" if is_standalone(master) else "connecting to its JVM")
    try:
        with _registered(jvm, master), jvm.blamed():
            return Session(_connect(settings, log_file, python_files), jvm)
    except Exception:
        jvm.kill()
        raise


@contextmanager
def _registered(jvm: Jvm, master: str) -> Iterator[None]:
    """A master that does not understand us answers nothing; Spark would try for a minute and then fail in many words."""
    if not is_standalone(master):
        yield
        return
    started_s = monotonic()
    try:
        with jvm.killed_after(REGISTER_TIMEOUT_S):
            yield
    except Exception:
        if monotonic() - started_s < REGISTER_TIMEOUT_S:
            raise
        raise MASTER_SILENT(master=master, version=version("pyspark"), log=str(jvm.log_file)) from None


def _on_this_machine(scratch_dir: Path) -> dict[str, str]:
    """Not in /tmp, which is shared with other projects and users. A cluster's executors have directories of their own."""
    return {_LOCAL_DIR: str(scratch_dir)}


def _pythons(settings: Mapping[str, str]) -> dict[str, str]:
    """Python workers must use this Python, whichever is first on the PATH; a cluster may have it in another place."""
    theirs = sys.executable if is_local(settings[_MASTER]) else settings.get(_PYTHON, sys.executable)
    return {"PYSPARK_PYTHON": theirs, "PYSPARK_DRIVER_PYTHON": sys.executable}


def _environment(settings: Mapping[str, str], scratch_dir: Path, python_files: Sequence[Path]) -> dict[str, str]:
    environment = {"SPARK_HOME": str(pyspark_home()), **_python_path(os.environ, python_files)}
    if is_local(settings[_MASTER]):
        environment["SPARK_LOCAL_IP"] = "127.0.0.1"
    elif _LOCAL_DIR not in settings:
        # The driver's own: unlike the setting, it does not reach the executors.
        environment["SPARK_LOCAL_DIRS"] = str(scratch_dir)
    return environment


def _python_path(environment: Mapping[str, str], python_files: Sequence[Path]) -> dict[str, str]:
    """Workers import nothing from the directory in which the command was typed: a `pandas.py` there is not ours to run.

    Spark starts a worker on the driver as well, before the first batch of a `transformWithState`. It runs the executors'
    Python, and unlike theirs it does not get the files that were added to the session.
    """
    # They are started by `python -m`, which puts that directory in front; an empty entry of the path means it as well.
    entries = [*map(str, python_files), *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))]
    return {"PYTHONSAFEPATH": "1", "PYTHONPATH": os.pathsep.join(entries)}


def shuffle_partitions(*changes: Mapping[str, str]) -> str:
    """The number of state partitions that a new checkpoint gets with these changes."""
    return effective_settings(*changes)[SHUFFLE_PARTITIONS]


def are_partitions_chosen(*changes: Mapping[str, str]) -> bool:
    """Whether their number fits: ours is for the cores of one machine."""
    return is_local(master_of(*changes)) or SHUFFLE_PARTITIONS in _named(*changes)


def master_of(*changes: Mapping[str, str]) -> str:
    return effective_settings(*changes)[_MASTER]


def effective_settings(*changes: Mapping[str, str]) -> dict[str, str]:
    merged = {**SETTINGS, **_named(*changes)}
    if not is_local(merged[_MASTER]):
        merged = {name: value for name, value in merged.items() if name not in _LOCAL_ONLY or name in _named(*changes)}
    return merged


def _named(*changes: Mapping[str, str]) -> dict[str, str]:
    """By their full names; a later change wins."""
    named = [(name, value) for change in changes for name, value in change.items()]
    return {name if name.startswith("spark.") else f"spark.{name}": value for name, value in named}


def _java_options(settings: Mapping[str, str], debug: bool) -> list[str]:
    log_configuration = files("anabranch.spark").joinpath("log4j2-spark.properties")
    return [
        f"-Xmx{settings.get(*_DRIVER_MEMORY)}",
        # Without it only the thread that met the error ends, and a query that waits for that thread hangs in silence.
        "-XX:+ExitOnOutOfMemoryError",
        f"-Dlog4j2.configurationFile={log_configuration}",
        f"-Danabranch.log.level={'info' if debug else 'warn'}",
        # Hadoop's local file system starts child processes. vfork does not copy the JVM's memory map for each.
        *(("-Djdk.lang.Process.launchMechanism=VFORK",) if sys.platform == "linux" else ()),
        *settings.get(_DRIVER_OPTIONS, "").split(),
    ]


def _connect(settings: Mapping[str, str], log_file: Path, python_files: Sequence[Path]) -> SparkSession:
    from py4j.protocol import Py4JJavaError
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    launched = {_DRIVER_MEMORY[0], _DRIVER_OPTIONS}
    conf = SparkConf().setAll([(name, value) for name, value in settings.items() if name not in launched])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            context = SparkContext(conf=conf, pyFiles=[str(path) for path in python_files])
        except Py4JJavaError as error:
            reason = str(error.java_exception.getMessage()).partition("\n")[0]
            raise SPARK_NOT_STARTED(reason=reason, log=str(log_file)) from None
    # It would print a trace where a JVM is killed that has run Python tasks: their connection ends. In the log it is in place.
    context._accumulatorServer.handle_error = _log_error  # type: ignore[method-assign, assignment]
    # No longer needed: a second session of this process launches its own JVM.
    del os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"]
    return SparkSession(context)


def _log_error(*_request: object) -> None:
    logging.getLogger(__name__).warning("a connection of PySpark's accumulators ended", exc_info=True)
