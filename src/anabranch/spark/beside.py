"""A session in a JVM that runs already: ours, or one that a user's own test has started."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from anabranch.spark.scala_jar import ensure_scala_jar
from anabranch.spark.session import ADAPTIVE, SHUFFLE_PARTITIONS, STREAMING, effective_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def running_spark() -> SparkSession | None:
    """The session of this process, whoever started it."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    return SparkSession.builder.getOrCreate() if SparkContext._active_spark_context is not None else None


def session_beside(spark: SparkSession, changes: Mapping[str, str], zone: str) -> SparkSession:
    """A session in the same JVM, with our settings of streams and of SQL, and those of a project."""
    session = spark.newSession()
    for name, value in {**effective_settings(changes), "spark.sql.session.timeZone": zone}.items():
        if name.startswith((f"{STREAMING}.", SHUFFLE_PARTITIONS, f"{ADAPTIVE}.", "spark.sql.session.")):
            session.conf.set(name, value)
    _add_jar(session)
    return session


def _add_jar(session: SparkSession) -> None:
    """Ours, where this JVM was started without it."""
    from py4j.java_gateway import JavaClass

    jvm = session._jvm
    assert jvm is not None
    # To py4j, what is no class is a package.
    if not isinstance(jvm.anabranch.Decode, JavaClass):
        session._jsparkSession.sessionState().resourceLoader().addJar(str(ensure_scala_jar()))
