"""The Spark session: every setting in one place, each with its reason. The project's [spark] section changes any of them."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.spark.class_archive import archive_options
from anabranch.spark.jars import pyspark_home
from anabranch.spark.java import find_java
from anabranch.spark.jvm import Jvm, launch_jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_STREAMING = "spark.sql.streaming"
_SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"

SETTINGS = {
    "spark.master": "local[*]",
    "spark.app.name": "anabranch",
    # Nothing listens beyond this machine unless told so.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # The pages of Spark's own UI cost memory and a port; `anabranch status` shows what matters.
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Several pipelines in one application share the cores fairly.
    "spark.scheduler.mode": "FAIR",
    # 200, Spark's default, are 200 tasks for a handful of rows: a batch without data took 7 s.
    # A checkpoint's first start fixes it.
    _SHUFFLE_PARTITIONS: "2",
    # RocksDB keeps state outside the heap; with a changelog a batch writes its changes, not everything.
    f"{_STREAMING}.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    f"{_STREAMING}.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # A day of batches at a trigger of 15 s can be rewound to; 100, Spark's default, are 25 minutes. What it costs is in
    # docs/benchmarks.md.
    f"{_STREAMING}.minBatchesToRetain": "5760",
    # Spark's default manager starts a `chmod` and a `readlink` process for each file on a local disk.
    f"{_STREAMING}.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    # PySpark would look up, and keep, the line of Python that made each column: most of the time that a decoder takes to build.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # A stop waits for the batch, not for ever.
    f"{_STREAMING}.stopTimeout": "60s",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # 50 tasks to read a log of a few entries, by default.
    "spark.databricks.delta.snapshotPartitions": "2",
    # Kafka's passwords come as options; they must not be in a plan that Spark writes to its log.
    "spark.sql.redaction.options.regex": r"(?i)secret|password|token|jaas|keystore|truststore",
    "spark.redaction.regex": r"(?i)secret|password|token|jaas|access[.]?key|keystore",
}

# The settings that Java must know before Spark starts. 1 GB is Spark's own default.
_DRIVER_MEMORY = ("spark.driver.memory", "1g")
_DRIVER_OPTIONS = "spark.driver.extraJavaOptions"


@dataclass(frozen=True)
class Session:
    spark: SparkSession
    jvm: Jvm

    def end(self) -> None:
        from pyspark import SparkContext

        self.spark.stop()
        # Before the JVM goes: a thread that still lets go of a Java object would find the line cut and print its trace.
        gateway = SparkContext._gateway
        if gateway is not None:
            gateway.shutdown()  # type: ignore[no-untyped-call]
            SparkContext._gateway = SparkContext._jvm = None
        self.jvm.end()


def start_session(
    changes: Mapping[str, str],
    *,
    zone: str,
    jars: Sequence[Path],
    scratch_dir: Path,
    log_file: Path,
    debug: bool = False,
) -> Session:
    log_file.parent.mkdir(parents=True, exist_ok=True)
    scratch_dir.mkdir(parents=True, exist_ok=True)
    settings = {
        "spark.sql.session.timeZone": zone,
        # Not in /tmp, which other projects and other users share.
        "spark.local.dir": str(scratch_dir),
        "spark.sql.warehouse.dir": str(scratch_dir / "warehouse"),
        **_in_force(changes),
    }
    if not debug:
        # They print each error with its whole Java stack; it is in the log file anyway.
        for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
            logging.getLogger(name).disabled = True
    # Python workers must be the Python that runs us, whatever is first on the PATH.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    environment = {"SPARK_HOME": str(pyspark_home()), "SPARK_LOCAL_IP": "127.0.0.1"}
    java = find_java()
    options = [*archive_options(java, jars), *_java_options(settings, debug)]
    jvm = launch_jvm(java, jars, options, environment, log_file)
    return Session(_connect(settings), jvm)


def shuffle_partitions(*changes: Mapping[str, str]) -> str:
    """How many partitions state will lie in, with these changes in force."""
    return _in_force(*changes)[_SHUFFLE_PARTITIONS]


def _in_force(*changes: Mapping[str, str]) -> dict[str, str]:
    merged = dict(SETTINGS)
    for change in changes:
        merged |= {name if name.startswith("spark.") else f"spark.{name}": value for name, value in change.items()}
    return merged


def _java_options(settings: Mapping[str, str], debug: bool) -> list[str]:
    log_configuration = files("anabranch.spark").joinpath("log4j2-spark.properties")
    return [
        f"-Xmx{settings.get(*_DRIVER_MEMORY)}",
        f"-Dlog4j2.configurationFile={log_configuration}",
        f"-Danabranch.log.level={'info' if debug else 'warn'}",
        # Hadoop's local file system starts child processes; vfork does not copy the JVM's memory map for each.
        *(("-Djdk.lang.Process.launchMechanism=VFORK",) if sys.platform == "linux" else ()),
        *settings.get(_DRIVER_OPTIONS, "").split(),
    ]


def _connect(settings: Mapping[str, str]) -> SparkSession:
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    launched = {_DRIVER_MEMORY[0], _DRIVER_OPTIONS}
    conf = SparkConf().setAll([(name, value) for name, value in settings.items() if name not in launched])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        context = SparkContext(conf=conf)
    # Used up: a second session of this process, if any, launches a JVM of its own.
    del os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"]
    return SparkSession(context)
