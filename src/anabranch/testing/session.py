"""The Spark session of tests: the user's own, or one that is started once for the process, with the settings of a run."""

from __future__ import annotations

import atexit
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import TYPE_CHECKING

from anabranch.pipeline.definition import Pipeline
from anabranch.project.load import ship_beside
from anabranch.spark.beside import running_spark, session_beside
from anabranch.spark.scala_jar import session_jars
from anabranch.spark.session import SHORT_RUN, start_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def spark_session(pipeline: Pipeline, timezone: str) -> SparkSession:
    if pipeline.place is not None:
        ship_beside(Path(pipeline.place.file))
    return session_beside(running_spark() or _start(), {}, timezone)


def _start() -> SparkSession:
    directory = Path(mkdtemp(prefix="anabranch-spark-"))
    session = start_session(
        SHORT_RUN, zone="UTC", jars=session_jars(), scratch_dir=directory / "tmp", log_file=directory / "spark.log"
    )

    def end() -> None:
        session.end()
        rmtree(directory, ignore_errors=True)

    atexit.register(end)
    return session.spark
