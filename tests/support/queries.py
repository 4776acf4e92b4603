"""Small queries on files, of every kind of state, run in the tier's Spark session: they make the checkpoints to look into."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

_STATE = "org.apache.spark.sql.execution.streaming.state"
_MANAGER = "spark.sql.streaming.checkpointFileManagerClass"
_MANAGERS = "org.apache.spark.sql.execution.streaming.checkpointing"
FILES = 7
# Retention of 4 batches is reached. Maintenance so often that there are snapshots and old versions go.
COMMON = {
    "spark.sql.streaming.minBatchesToRetain": "4",
    "spark.sql.streaming.stateStore.minDeltasForSnapshot": "2",
    "spark.sql.streaming.stateStore.maintenanceInterval": "300ms",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
}


def provider(
    name: str, *, changelog: bool = False, format_version: int = 1, manager: str = "FileSystemBased"
) -> dict[str, str]:
    prefix = "spark.sql.streaming.stateStore"
    return {
        **COMMON,
        f"{prefix}.providerClass": f"{_STATE}.{name}StateStoreProvider",
        f"{prefix}.rocksdb.changelogCheckpointing.enabled": str(changelog).lower(),
        f"{prefix}.checkpointFormatVersion": str(format_version),
        _MANAGER: f"{_MANAGERS}.{manager}CheckpointFileManager",
    }


def counts(visits: DataFrame) -> DataFrame:
    return visits.groupBy("k").agg(F.count("*").alias("n"), F.max("v").alias("v"))


def joined(visits: DataFrame) -> DataFrame:
    other = visits.selectExpr("k AS k2", "v AS v2")
    return visits.join(other, F.expr("k = k2 AND v2 = v"))


def remembered(visits: DataFrame) -> DataFrame:
    from tests.support.remembering import Remember

    return visits.groupBy("k").transformWithStateInPandas(Remember(), "k STRING, n INT", "update", "none")


@dataclass(frozen=True)
class Kind:
    name: str
    conf: dict[str, str]
    transform: Callable[[DataFrame], DataFrame]
    shown_as: str
    mode: str = "update"
    stores: int = 1


KINDS = [
    # Spark's default file manager; the others have the one that our sessions use.
    Kind("hdfs", provider("HDFSBacked", manager="FileContextBased"), counts, "HDFS-backed"),
    Kind("rocksdb", provider("RocksDB"), counts, "RocksDB"),
    Kind("changelog", provider("RocksDB", changelog=True), counts, "RocksDB + changelog"),
    Kind("format-2", provider("RocksDB", changelog=True, format_version=2), counts, "RocksDB + changelog"),
    Kind("join", provider("RocksDB", changelog=True), joined, "RocksDB + changelog", mode="append", stores=4),
    Kind("transform-with-state", provider("RocksDB", changelog=True), remembered, "RocksDB + changelog"),
    Kind("stateless", {**COMMON, _MANAGER: f"{_MANAGERS}.FileSystemBasedCheckpointFileManager"}, lambda visits: visits, "none"),
    Kind("stateless-default", {**COMMON, _MANAGER: f"{_MANAGERS}.FileContextBasedCheckpointFileManager"}, lambda v: v, "none"),
]


class EnoughError(Exception):
    """Ends a query before it writes a batch."""


@dataclass
class Query:
    """A query on 7 small files, one a batch; what each batch gave is kept."""

    spark: SparkSession
    kind: Kind
    files: Path
    checkpoint: Path
    results: dict[int, list[str]] = field(default_factory=dict)

    def run(self, most: int | None = None) -> dict[int, list[str]]:
        """Runs to the end of the input, or so many batches; the results of the batches of this run."""
        given: dict[int, list[str]] = {}

        def keep(frame: DataFrame, batch: int) -> None:
            if len(given) == most:
                raise EnoughError
            given[batch] = sorted(str(row) for row in frame.collect())

        visits = self.spark.readStream.schema("k STRING, v INT").option("maxFilesPerTrigger", 1).json(str(self.files))
        writer = self.kind.transform(visits).writeStream.outputMode(self.kind.mode).foreachBatch(keep)
        query = writer.option("checkpointLocation", str(self.checkpoint)).trigger(availableNow=True).start()
        try:
            query.awaitTermination()
        except StreamingQueryException as error:
            if "EnoughError" not in str(error):
                raise
        finally:
            query.stop()
        end_maintenance(self.spark)
        return given


def end_maintenance(spark: SparkSession) -> None:
    """Spark looks after a stopped query's stores until the next round: now nothing comes or goes in its checkpoint any more.

    The next query begins the rounds again, at its own pace.
    """
    stores = getattr(getattr(spark._jvm.org.apache.spark.sql.execution.streaming.state, "StateStore$"), "MODULE$")  # type: ignore[union-attr]
    # Spark's own stop() may wait for a round that waits for its lock.
    stores.stopMaintenanceTaskWithoutLock()
    stores.unloadAll()


STATEFUL = [kind.name for kind in KINDS if kind.shown_as != "none"]


def copy_of(query: Query, directory: Path) -> Query:
    """Another checkpoint of the same query. Fit for all but version 2 of operator metadata, which names its directory."""
    shutil.copytree(query.checkpoint, directory / "checkpoint")
    return Query(query.spark, query.kind, query.files, directory / "checkpoint", query.results)
