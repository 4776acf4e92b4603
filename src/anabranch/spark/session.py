"""The Spark session: every setting in one place, each with its reason. The project's [spark] section overrides any of them."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.spark.class_archive import archive_options
from anabranch.spark.jars import pyspark_home
from anabranch.spark.java import find_java
from anabranch.spark.jvm import Jvm, launch_jvm
from anabranch.spark.messages import SPARK_NOT_STARTED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_STREAMING = "spark.sql.streaming"
_SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"

SETTINGS = {
    "spark.master": "local[*]",
    "spark.app.name": "anabranch",
    # Spark listens on this machine only, unless configured otherwise.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # Spark's web UI takes memory and a port; `anabranch status` shows what matters.
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Several pipelines in one application share the cores fairly.
    "spark.scheduler.mode": "FAIR",
    # Spark's default of 200 means 200 tasks for a few rows: an empty batch took 7 s.
    # The first start of a checkpoint fixes the number for its lifetime.
    _SHUFFLE_PARTITIONS: "2",
    # RocksDB keeps state outside the heap. With a changelog a batch writes only its changes.
    f"{_STREAMING}.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    f"{_STREAMING}.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Enough to rewind a day at a trigger of 15 s; Spark's default of 100 is enough for 25 minutes. docs/benchmarks.md has
    # the cost.
    f"{_STREAMING}.minBatchesToRetain": "5760",
    # On a local disk, Spark's default manager starts a `chmod` and a `readlink` process for each file.
    f"{_STREAMING}.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    # PySpark would look up the line of Python that built each column, which is most of the time it takes to build a decoder.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # A stop waits for the current batch, but not indefinitely.
    f"{_STREAMING}.stopTimeout": "60s",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # Delta's default of 50 means 50 tasks to read a log of a few entries.
    "spark.databricks.delta.snapshotPartitions": "2",
    # Kafka's passwords are passed as options: keeps them out of the plans that Spark logs.
    "spark.sql.redaction.options.regex": r"(?i)secret|password|token|jaas|keystore|truststore",
    "spark.redaction.regex": r"(?i)secret|password|token|jaas|access[.]?key|keystore",
}

# These settings are options of the JVM, so they apply when it is launched. 1 GB is Spark's own default.
_DRIVER_MEMORY = ("spark.driver.memory", "1g")
_DRIVER_OPTIONS = "spark.driver.extraJavaOptions"
# Far longer than Spark takes to end: only one that hangs is killed.
END_TIMEOUT_S = 30.0


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
    log_file.parent.mkdir(parents=True, exist_ok=True)
    scratch_dir.mkdir(parents=True, exist_ok=True)
    settings = {
        "spark.sql.session.timeZone": zone,
        # Not in /tmp, which is shared with other projects and users.
        "spark.local.dir": str(scratch_dir),
        "spark.sql.warehouse.dir": str(scratch_dir / "warehouse"),
        **_effective_settings(changes),
    }
    if not debug:
        # py4j reports each call that a dead JVM does not answer, with its trace: beside what Spark has logged, not to a person.
        logging.basicConfig(filename=log_file, encoding="utf-8")
        # They print each error with its Java stack trace, which is in the log file anyway.
        for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
            logging.getLogger(name).disabled = True
    # Python workers must use this Python, whichever is first on the PATH.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    environment = {"SPARK_HOME": str(pyspark_home()), "SPARK_LOCAL_IP": "127.0.0.1", **_python_path(os.environ)}
    java = find_java()
    options = [*archive_options(java, jars), *_java_options(settings, debug)]
    phase("launching its JVM")
    jvm = launch_jvm(java, jars, options, environment, log_file)
    phase("connecting to its JVM")
    try:
        with jvm.blamed():
            return Session(_connect(settings, log_file), jvm)
    except Exception:
        jvm.kill()
        raise


def _python_path(environment: Mapping[str, str]) -> dict[str, str]:
    """Workers import nothing from the directory in which the command was typed: a `pandas.py` there is not ours to run."""
    # They are started by `python -m`, which puts that directory in front; an empty entry of the path means it as well.
    entries = [entry for entry in environment.get("PYTHONPATH", "").split(os.pathsep) if entry]
    return {"PYTHONSAFEPATH": "1", "PYTHONPATH": os.pathsep.join(entries)}


def shuffle_partitions(*changes: Mapping[str, str]) -> str:
    """The number of state partitions that a new checkpoint gets with these changes."""
    return _effective_settings(*changes)[_SHUFFLE_PARTITIONS]


def _effective_settings(*changes: Mapping[str, str]) -> dict[str, str]:
    merged = dict(SETTINGS)
    for change in changes:
        merged |= {name if name.startswith("spark.") else f"spark.{name}": value for name, value in change.items()}
    return merged


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


def _connect(settings: Mapping[str, str], log_file: Path) -> SparkSession:
    from py4j.protocol import Py4JJavaError
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    launched = {_DRIVER_MEMORY[0], _DRIVER_OPTIONS}
    conf = SparkConf().setAll([(name, value) for name, value in settings.items() if name not in launched])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            context = SparkContext(conf=conf)
        except Py4JJavaError as error:
            reason = str(error.java_exception.getMessage()).partition("\n")[0]
            raise SPARK_NOT_STARTED(reason=reason, log=str(log_file)) from None
    # No longer needed: a second session of this process launches its own JVM.
    del os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"]
    return SparkSession(context)
