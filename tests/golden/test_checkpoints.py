"""Checkpoints that other versions of Spark wrote stay readable, and every batch of them is restartable."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from anabranch.checkpoint.reader import read_checkpoint
from anabranch.checkpoint.report import as_json, provider_of
from anabranch.rewind.plan import files_beyond, judge
from anabranch.storage.local import LocalStorage

CHECKPOINTS = sorted((Path(__file__).parent / "checkpoints").glob("*.tar.gz"))
PROVIDERS = {
    "hdfs": "HDFS-backed",
    "rocksdb": "RocksDB",
    "changelog": "RocksDB + changelog",
    "join": "RocksDB + changelog",
    "format-2": "RocksDB + changelog",
    "transform-with-state": "RocksDB + changelog",
    "join-format-3": "RocksDB + changelog",
    "offsets-2": "HDFS-backed",
}


@pytest.mark.parametrize("archive", CHECKPOINTS, ids=lambda path: path.name.removesuffix(".tar.gz"))
def test_a_checkpoint_of_another_spark_is_read_whole(archive: Path, tmp_path: Path) -> None:
    with tarfile.open(archive) as files:
        files.extractall(tmp_path, filter="data")
    checkpoint = read_checkpoint(LocalStorage(tmp_path / "checkpoint"))
    _, _version, kind = archive.name.removesuffix(".tar.gz").split("-", 2)
    found = as_json(checkpoint)
    # It was moved here from where it was made, which operator metadata of version 2 tells.
    assert {one["code"] for one in found["findings"]} <= {"copied"}
    assert checkpoint.batches == list(range(5 if kind in ("stateless", "transform-with-state") else 7))
    assert all(batch["committed"] and batch["sources"] for batch in found["batches"])
    assert len(found["batches"][0]["sources"]) == (2 if kind.startswith("join") else 1)
    if kind == "stateless":
        assert checkpoint.operators == ()
    else:
        assert {provider_of(operator.stores) for operator in checkpoint.operators} == {PROVIDERS[kind]}
    for batch in checkpoint.batches:
        assert judge(checkpoint, batch, "replay").possible
        assert judge(checkpoint, batch, "replan").possible
    moved = set(files_beyond(checkpoint, 2, "replay"))
    assert {"commits/2", "offsets/3"} <= moved
    # Every checksum goes with its file.
    assert {path for path in moved if path.endswith(".crc") and _owner(path) not in moved} == set()


def _owner(path: str) -> str:
    directory, _, name = path.rpartition("/")
    return f"{directory}/{name.removesuffix('.crc').removeprefix('.') if name.startswith('.') else name.removesuffix('.crc')}"


def test_there_is_one_for_each_version() -> None:
    assert {path.name.split("-")[1] for path in CHECKPOINTS} == {"3.5.9", "4.0.5", "4.1.4", "4.2.0"}
