"""Makes the golden checkpoints: runs a small query of each kind with the Spark of this interpreter, and packs what it wrote.

Usage: PYTHON tests/golden/make_checkpoints.py [KIND ...], once for each Python environment with its own pyspark (README.md).
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import sys
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import sleep
from typing import Any

import pyspark
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

# Spark writes absolute paths into a checkpoint: this one is the same on any machine.
ROOT = Path("/tmp/golden")
TARGET = Path(__file__).parent / "checkpoints"
SPARK = tuple(int(part) for part in pyspark.__version__.split(".")[:2])
FILES = 5
FIRST = datetime(2025, 9, 4, 7, tzinfo=UTC)
# More than a round of maintenance, which makes snapshots of the state.
PAUSE_S = 0.7

STREAMING = "spark.sql.streaming"
STATE = f"{STREAMING}.stateStore"
PROVIDER = "org.apache.spark.sql.execution.streaming.state"
HDFS = {f"{STATE}.providerClass": f"{PROVIDER}.HDFSBackedStateStoreProvider"}
ROCKSDB = {
    f"{STATE}.providerClass": f"{PROVIDER}.RocksDBStateStoreProvider",
    f"{STATE}.rocksdb.changelogCheckpointing.enabled": "false",
}
CHANGELOG = {**ROCKSDB, f"{STATE}.rocksdb.changelogCheckpointing.enabled": "true"}
# What a kind may change, as Spark has it by default.
DEFAULTS = {
    f"{STATE}.checkpointFormatVersion": "1",
    f"{STREAMING}.join.stateFormatVersion": "2",
    f"{STREAMING}.offsetLog.formatVersion": "1",
}
SESSION = {
    "spark.master": "local[2]",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.local.dir": str(ROOT / "scratch"),
    "spark.sql.warehouse.dir": str(ROOT / "scratch" / "warehouse"),
    # Snapshots within a few batches.
    f"{STATE}.minDeltasForSnapshot": "2",
    f"{STATE}.maintenanceInterval": "300ms",
}

# A name of an input -> its stream of rows (at, page, n).
Read = Callable[[str], DataFrame]


def stateless(read: Read) -> DataFrame:
    return read("visits").where("n > 0")


def windowed(read: Read) -> DataFrame:
    visits = read("visits").withWatermark("at", "10 minutes")
    return visits.groupBy(F.window("at", "10 minutes"), "page").agg(F.count("*").alias("visits"), F.sum("n").alias("n"))


def joined(read: Read) -> DataFrame:
    visits = read("visits").withWatermark("at", "10 minutes")
    clicks = read("clicks").selectExpr("at AS clicked", "page AS clicked_page").withWatermark("clicked", "10 minutes")
    return visits.join(clicks, F.expr("page = clicked_page AND clicked BETWEEN at AND at + INTERVAL 5 MINUTES"))


def remembered(read: Read) -> DataFrame:
    """A class within the function is sent to the Python workers by value, and older Sparks need not know its base."""
    import pandas as pd
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

    class Remember(StatefulProcessor):
        def init(self, handle: StatefulProcessorHandle) -> None:
            self._total = handle.getValueState("total", "n BIGINT")
            self._seen = handle.getListState("seen", "n BIGINT")

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: ARG002
            values = [int(n) for frame in rows for n in frame["n"]]
            before = self._total.get()
            total = (before[0] if before is not None else 0) + sum(values)
            self._total.update((total,))
            self._seen.appendList([(n,) for n in values])
            yield pd.DataFrame({"page": [key[0]], "n": [total]})

        def close(self) -> None: ...

    return read("visits").groupBy("page").transformWithStateInPandas(Remember(), "page STRING, n BIGINT", "update", "none")


@dataclass(frozen=True)
class Kind:
    name: str
    build: Callable[[Read], DataFrame]
    conf: dict[str, str] = field(default_factory=dict)
    mode: str = "update"
    # The first Spark that has it.
    since: tuple[int, int] = (3, 5)


KINDS = [
    Kind("stateless", stateless, mode="append"),
    Kind("hdfs", windowed, HDFS),
    Kind("rocksdb", windowed, ROCKSDB),
    Kind("changelog", windowed, CHANGELOG),
    Kind("join", joined, CHANGELOG, mode="append"),
    Kind("format-2", windowed, {**CHANGELOG, f"{STATE}.checkpointFormatVersion": "2"}, since=(4, 0)),
    Kind("transform-with-state", remembered, CHANGELOG, since=(4, 0)),
    Kind("join-format-3", joined, {**CHANGELOG, f"{STREAMING}.join.stateFormatVersion": "3"}, mode="append", since=(4, 1)),
    Kind("offsets-2", windowed, {**HDFS, f"{STREAMING}.offsetLog.formatVersion": "2"}, since=(4, 2)),
]


def write_inputs(home: Path, numbers: range) -> None:
    """One small file for each batch and input; its time orders it."""
    for name, delay in (("visits", 0), ("clicks", 2)):
        (home / name).mkdir(parents=True, exist_ok=True)
        for number in numbers:
            at = FIRST + timedelta(minutes=10 * number + delay)
            rows = [{"at": (at + timedelta(minutes=i)).isoformat(), "page": f"page-{i % 3}", "n": i + 1} for i in range(4)]
            file = home / name / f"{number}.json"
            file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
            os.utime(file, (at.timestamp(), at.timestamp()))


def run(spark: SparkSession, kind: Kind, home: Path) -> None:
    """All files, one a batch, in two runs of the query."""
    for name, value in {**DEFAULTS, **kind.conf}.items():
        spark.conf.set(name, value)

    def read(name: str) -> DataFrame:
        reader = spark.readStream.schema("at TIMESTAMP, page STRING, n INT").option("maxFilesPerTrigger", 1)
        return reader.json(str(home / name))

    for numbers in (range(2), range(2, FILES)):
        write_inputs(home, numbers)
        writer = kind.build(read).writeStream.format("noop").outputMode(kind.mode)
        query = writer.option("checkpointLocation", str(home / "checkpoint")).trigger(availableNow=True).start()
        query.awaitTermination()
        sleep(PAUSE_S)


def pack(directory: Path, target: Path) -> None:
    """The same bytes for the same files: names sorted, no times and no owners."""

    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.mtime = entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        entry.mode = 0o755 if entry.isdir() else 0o644
        return entry

    with (
        target.open("wb") as raw,
        gzip.GzipFile("", "wb", 9, raw, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for path in [directory, *sorted(directory.rglob("*"))]:
            archive.add(path, path.relative_to(directory.parent).as_posix(), recursive=False, filter=plain)


def main(wanted: list[str]) -> None:
    kinds = [kind for kind in KINDS if kind.since <= SPARK and (not wanted or kind.name in wanted)]
    homes = {kind.name: ROOT / f"spark-{pyspark.__version__}-{kind.name}" for kind in kinds}
    os.environ.update(SPARK_LOCAL_IP="127.0.0.1", PYSPARK_PYTHON=sys.executable, PYSPARK_DRIVER_PYTHON=sys.executable)
    builder = SparkSession.builder.appName("golden")
    for name, value in SESSION.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    try:
        for kind in kinds:
            shutil.rmtree(homes[kind.name], ignore_errors=True)
            run(spark, kind, homes[kind.name])
    finally:
        # Only then does no maintenance change the state any more.
        spark.stop()
    TARGET.mkdir(exist_ok=True)
    for home in homes.values():
        pack(home / "checkpoint", TARGET / f"{home.name}.tar.gz")


if __name__ == "__main__":
    main(sys.argv[1:])
