"""Spark sessions for the two ways: ours as the product starts it, the plain one with Spark's own defaults.

The plain way has RocksDB and 2 shuffle partitions all the same: with Spark's own 200 a batch without data takes 7 s, and
without RocksDB there is no transformWithState. What is compared is what comes on top of that.
"""

from __future__ import annotations

from pathlib import Path

from anabranch.spark.scala_jar import session_jars
from anabranch.spark.session import SETTINGS, Session, start_session
from benchmarks.case import Way

_PLAIN = {
    "spark.scheduler.mode": "FIFO",
    "spark.ui.enabled": "true",
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.LocalFileSystem",
    # Java's own default on Linux.
    "spark.driver.extraJavaOptions": "-Djdk.lang.Process.launchMechanism=POSIX_SPAWN",
}
_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
# Of ours, these groups go back to Spark's defaults.
_UNSET = ("spark.sql.streaming.", "spark.sql.ui.", "spark.sql.adaptive.")


def open_session(way: Way, directory: Path) -> Session:
    session = start_session(
        _PLAIN if way == "plain" else {},
        zone="UTC",
        jars=session_jars(),
        scratch_dir=directory / "tmp",
        log_file=directory / "spark.log",
    )
    if way == "plain":
        for name in SETTINGS:
            if name.startswith(_UNSET) and name != _PROVIDER:
                session.spark.conf.unset(name)
    return session
