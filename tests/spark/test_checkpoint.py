"""Real checkpoints, made once by real queries: what is seen in them, and that a verdict is what a restart then does.

The rewind is done by hand here, file by file as checkpoint-rewind.md says (1 and 6): it judges the inventory, no tool of ours.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from anabranch.core.checkpoint_files import parse_state_name
from anabranch.core.checkpoint_report import as_json, view_operator
from anabranch.core.checkpoint_sources import log_offset
from anabranch.core.possible import possible_replan, possible_replay
from anabranch.world.checkpoint_tree import look

_STATE = "org.apache.spark.sql.execution.streaming.state"
_MANAGER = "spark.sql.streaming.checkpointFileManagerClass"
_MANAGERS = "org.apache.spark.sql.execution.streaming.checkpointing"
FILES = 7
# Retention of 4 batches is reached. Maintenance so often that there are snapshots and old versions go: if these are the first
# queries of the JVM, that is; the first sets the pace for all.
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
    from tests.spark.remembering import Remember

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


@dataclass
class Query:
    """A query on 7 small files, one a batch; what each batch gave is kept."""

    spark: SparkSession
    kind: Kind
    files: Path
    checkpoint: Path
    results: dict[int, list[str]] = field(default_factory=dict)

    def run(self) -> dict[int, list[str]]:
        """Runs to the end of the input; the results of the batches of this run."""
        given: dict[int, list[str]] = {}

        def keep(frame: DataFrame, batch: int) -> None:
            given[batch] = sorted(str(row) for row in frame.collect())

        visits = self.spark.readStream.schema("k STRING, v INT").option("maxFilesPerTrigger", 1).json(str(self.files))
        writer = self.kind.transform(visits).writeStream.outputMode(self.kind.mode).foreachBatch(keep)
        query = writer.option("checkpointLocation", str(self.checkpoint)).trigger(availableNow=True).start()
        try:
            query.awaitTermination()
        finally:
            query.stop()
            settled(self.checkpoint)
        return given


def settled(checkpoint: Path) -> Path:
    """A stopped query's stores are looked after until the next round of maintenance: files may still come and go."""
    seen: object = None
    deadline_s = monotonic() + 20
    while monotonic() < deadline_s and seen != (now := look(checkpoint).listing):
        seen = now
        sleep(0.7)
    return checkpoint


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("visits")
    for number in range(FILES):
        # Keys that only one batch touches are where stale state would show.
        rows = [{"k": key, "v": number} for key in ("a", "b", "c", f"only-{number}")]
        (directory / f"{number}.json").write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return directory


@pytest.fixture(scope="module")
def made(spark: SparkSession, files: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Query]:
    """Each kind of checkpoint is made when it is first asked for."""
    queries: dict[str, Query] = {}

    def make(name: str) -> Query:
        if name not in queries:
            kind = next(kind for kind in KINDS if kind.name == name)
            session = spark.newSession()
            for key, value in kind.conf.items():
                session.conf.set(key, value)
            query = Query(session, kind, files, tmp_path_factory.mktemp(name) / "checkpoint")
            query.results = query.run()
            queries[name] = query
        return queries[name]

    return make


STATEFUL = [kind.name for kind in KINDS if kind.shown_as != "none"]


@pytest.mark.parametrize("name", [kind.name for kind in KINDS])
def test_a_real_checkpoint_is_sound_and_seen_as_what_it_is(name: str, made: Callable[[str], Query]) -> None:
    query = made(name)
    inventory = look(query.checkpoint)
    found = as_json(inventory)
    assert found["findings"] == []
    assert found["newest_batch"] == FILES - 1
    assert found["query_id"]
    assert [batch["sources"][0] for batch in found["batches"][1:]] == [
        {"kind": "file", "start": batch["id"] - 1, "end": batch["id"], "rows": None} for batch in found["batches"][1:]
    ]
    assert found["formats"]["state"] == (None if name not in STATEFUL else 2 if name == "format-2" else 1)
    for operator in (view_operator(inventory, one) for one in inventory.operators):
        assert (operator.provider, len(operator.stores), operator.partitions) == (query.kind.shown_as, query.kind.stores, 2)
        assert operator.name
        assert operator.versions is not None
        assert operator.versions[1] == FILES


@pytest.mark.parametrize("mode", ["replay", "replan"])
@pytest.mark.parametrize("name", STATEFUL)
def test_the_oldest_batch_that_is_said_to_be_possible_really_runs_again(
    name: str, mode: str, made: Callable[[str], Query]
) -> None:
    query = made(name)
    inventory = look(query.checkpoint)
    verdict = possible_replay if mode == "replay" else possible_replan
    batch = next(batch for batch in inventory.batches if verdict(inventory, batch).possible)
    assert batch < FILES - 1
    rewind_by_hand(query.checkpoint, batch, mode)
    assert as_json(look(query.checkpoint))["findings"] == []
    assert query.run() == {number: rows for number, rows in query.results.items() if number >= batch}
    assert as_json(look(query.checkpoint))["findings"] == []


def test_what_is_said_to_be_impossible_really_does_not_start(made: Callable[[str], Query], tmp_path: Path) -> None:
    query = made("hdfs")
    inventory = look(query.checkpoint)
    batch = next(batch for batch in inventory.batches if possible_replay(inventory, batch).possible)
    assert possible_replan(inventory, batch).why_not[0].startswith(f"offsets/{batch - 2} is gone")
    copy = copy_of(query, tmp_path)
    rewind_by_hand(copy.checkpoint, batch, "replan")
    with pytest.raises(Exception, match=f"batch {batch - 2} doesn't exist"):
        copy.run()


def test_without_an_sst_that_its_zip_names_a_version_does_not_load(made: Callable[[str], Query], tmp_path: Path) -> None:
    copy = copy_of(made("rocksdb"), tmp_path)
    inventory = look(copy.checkpoint)
    newest = FILES - 1
    assert possible_replay(inventory, newest).possible
    store = inventory.operators[0].stores[0]
    named = inventory.contents.zip_metadata(f"{store.directory}/{newest}.zip") or ""
    sst = json.loads(named.partition("\n")[2])["sstFiles"][0]["dfsSstFileName"]
    (copy.checkpoint / store.directory / "SSTs" / sst).unlink()
    assert f"{newest}.zip names SSTs/{sst}, which is gone" in possible_replay(look(copy.checkpoint), newest).why_not[0]
    rewind_by_hand(copy.checkpoint, newest, "replay")
    with pytest.raises(Exception, match=sst):
        copy.run()


def _fence(root: Path) -> None:
    (root / "offsets" / str(FILES)).write_text("v99999\n")


def _stray(root: Path) -> None:
    checksum = root / "offsets" / f".{FILES - 1}.crc"
    content = checksum.read_bytes()
    rewind_by_hand(root, FILES - 1, "replan")
    checksum.write_bytes(content)


def _edited(root: Path) -> None:
    entry = root / "offsets" / str(FILES - 1)
    entry.write_text(entry.read_text().replace('"logOffset":', '"logOffset": '))


def _gap(root: Path) -> None:
    (root / "offsets" / str(FILES - 2)).unlink()
    (root / "offsets" / f".{FILES - 2}.crc").unlink()


def _empty(root: Path) -> None:
    (root / "offsets" / str(FILES - 1)).write_text("")
    (root / "offsets" / f".{FILES - 1}.crc").unlink()


@pytest.mark.parametrize(
    ("spoil", "code", "error"),
    [
        (_fence, "fence", "INVALID_LOG_VERSION"),
        (_stray, "stray-crc", "Multiple streaming queries are concurrently using"),
        (_gap, "gap", f"batch {FILES - 2} doesn't exist"),
        (_empty, "log-empty", "Incomplete log file"),
        (lambda root: (root / "metadata").unlink(), "metadata-missing", "MISSING_METADATA_FILE"),
    ],
)
def test_what_a_finding_says_that_spark_does_it_does(
    spoil: Callable[[Path], None], code: str, error: str, made: Callable[[str], Query], tmp_path: Path
) -> None:
    copy = copy_of(made("stateless-default"), tmp_path)
    spoil(copy.checkpoint)
    assert code in [one["code"] for one in as_json(look(copy.checkpoint))["findings"]]
    with pytest.raises(Exception, match=error):
        copy.run()


def test_our_file_manager_writes_over_a_stray_checksum(made: Callable[[str], Query], tmp_path: Path) -> None:
    copy = copy_of(made("stateless"), tmp_path)
    _stray(copy.checkpoint)
    assert list(copy.run()) == [FILES - 1]
    assert as_json(look(copy.checkpoint))["findings"] == []


def test_an_edited_log_fails_its_check_with_our_file_manager_and_passes_with_sparks(
    made: Callable[[str], Query], tmp_path: Path
) -> None:
    for name in ("stateless", "stateless-default"):
        copy = copy_of(made(name), tmp_path / name)
        _edited(copy.checkpoint)
        assert [one["code"] for one in as_json(look(copy.checkpoint))["findings"]] == ["checksum"]
        if name == "stateless":
            with pytest.raises(Exception, match="Checksum error"):
                copy.run()
        else:
            copy.run()


def copy_of(query: Query, directory: Path) -> Query:
    """Another checkpoint of the same query. Fit for all but version 2 of operator metadata, which names its directory."""
    shutil.copytree(query.checkpoint, directory / "checkpoint")
    return Query(query.spark, query.kind, query.files, directory / "checkpoint", query.results)


def rewind_by_hand(root: Path, batch: int, mode: str) -> None:
    """Section 1: what is beyond goes, with both kinds of checksums."""
    last_kept = batch if mode == "replay" else batch - 1
    entry = look(root).offset_entry(last_kept)
    assert entry is not None
    limit = log_offset(entry.sources[0])
    assert limit is not None
    _take_out(root / "commits", lambda number: number >= batch)
    _take_out(root / "offsets", lambda number: number > last_kept)
    for log in (root / "sources").iterdir():
        _take_out(log, lambda number: number > limit)
    for log in root.glob("state/*/_metadata/v2"):
        _take_out(log, lambda number: number >= batch)
    for path in list(root.glob("state/**/*")):
        plain = path.name.removeprefix(".")
        while plain.endswith(".crc"):
            plain = plain.removesuffix(".crc")
        file = parse_state_name(plain)
        if file is not None and file.version > batch:
            path.unlink()


def _take_out(log: Path, is_beyond: Callable[[int], bool]) -> None:
    for path in list(log.iterdir()):
        name = path.name.removeprefix(".").removesuffix(".crc").removesuffix(".compact")
        if name.isdecimal() and is_beyond(int(name)):
            path.unlink()
