"""Checkpoints drawn as small dicts of path -> content: the in-memory fake of a directory that Spark wrote."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from anabranch.checkpoint.checkpoint import Checkpoint, assemble_checkpoint

# Of a zip the content is its entry `metadata`.
Tree = dict[str, str]

PROVIDERS = ("hdfs", "rocksdb", "changelog", "format-2")
JOIN = ("left-keyToNumValues", "left-keyWithIndexToValue", "right-keyToNumValues", "right-keyWithIndexToValue")
BEGIN_MS = 1_757_606_666_015
TRIGGER_MS = 15_000
HERE = "/data/checkpoint"


@dataclass(frozen=True)
class Drawn:
    """The contents of a drawing. A checksum fits unless the tree holds one with the text `other`."""

    tree: Mapping[str, str]

    def size(self, path: str) -> int:
        return len(self.tree.get(path, ""))

    def text(self, path: str) -> str | None:
        return self.tree.get(path)

    def zip_metadata(self, path: str) -> str | None:
        return self.tree.get(path) or None

    def fits_checksum(self, path: str) -> bool | None:
        directory, _, name = path.rpartition("/")
        held = self.tree.get(f"{directory}/.{name}.crc")
        return None if held is None else held != "other"


def checkpoint_of(tree: Mapping[str, str], path: str = HERE) -> Checkpoint:
    listing: dict[str, dict[str, int]] = {"": {}}
    for file, content in tree.items():
        directory, _, name = file.rpartition("/")
        listing.setdefault(directory, {})[name] = len(content)
        while directory:
            listing.setdefault(directory, {})
            directory = directory.rpartition("/")[0]
    return assemble_checkpoint(path, listing, Drawn(tree))


def stored(tree: Mapping[str, str]) -> dict[str, bytes]:
    """The files of a drawing, byte by byte."""
    return {path: _zip(text) if path.endswith(".zip") and text else _bytes(text) for path, text in tree.items()}


def write_tree(tree: Mapping[str, str], root: Path) -> Path:
    """The same on a disk."""
    for file, content in stored(tree).items():
        path = root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return root


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", errors="surrogatepass")


def _zip(metadata: str) -> bytes:
    content = BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        # Without the time of day: the same drawing gives the same bytes.
        archive.writestr(zipfile.ZipInfo("metadata"), metadata)
    return content.getvalue()


def without(tree: Mapping[str, str], *paths: str) -> Tree:
    """The tree without these files; a path that ends in / takes all that is below it."""
    gone = {file for file in tree for path in paths if file == path or (path.endswith("/") and file.startswith(path))}
    assert gone or not paths, f"{paths} are not in the drawing"
    return {file: content for file, content in tree.items() if file not in gone}


def draw(
    provider: str | None = "changelog",
    *,
    batches: Iterable[int] = range(9),
    committed: Iterable[int] | None = None,
    partitions: int = 2,
    stores: Iterable[str] = ("default",),
    base_every: int = 4,
    source: str = "kafka",
    v2: bool = False,
) -> Tree:
    """A sound checkpoint. Without a provider the query has no state; `v2` has operator metadata as transformWithState has."""
    batches = list(batches)
    tree: Tree = {"metadata": '{"id":"2d01b0bc-d1c6-4e4b-b0cf-21b6155f3c1a"}', ".metadata.crc": "crc"}
    for batch in batches:
        tree[f"offsets/{batch}"] = offsets(batch, source)
        tree[f"offsets/.{batch}.crc"] = "crc"
    for batch in batches if committed is None else committed:
        tree[f"commits/{batch}"] = commit(batch, partitions, list(stores), provider == "format-2")
        tree[f"commits/.{batch}.crc"] = "crc"
    if source == "file":
        tree |= {f"sources/0/{entry}": "v1\n{}" for entry in range(max(batches, default=-1) + 1)}
    else:
        tree["sources/0/0"] = '\0v1\n{"visits":{"0":0,"1":0}}' if source == "kafka" else f"v1\n{BEGIN_MS}"
    if provider is not None:
        tree |= _operator(partitions, list(stores), v2)
        for partition in range(partitions):
            for store in stores:
                tree |= _store(provider, partition, store, [batch + 1 for batch in batches], base_every)
    return tree


def offsets(batch: int, source: str = "kafka", *, watermark_ms: int | None = None, version: int = 1) -> str:
    head = {
        "batchWatermarkMs": max(0, batch - 1) * TRIGGER_MS + BEGIN_MS if watermark_ms is None else watermark_ms,
        "batchTimestampMs": BEGIN_MS + batch * TRIGGER_MS,
        "conf": {"spark.sql.shuffle.partitions": "2"},
    }
    ends = {"kafka": {"visits": {"0": 10 * (batch + 1), "1": 5 * (batch + 1)}}, "file": {"logOffset": batch}, "rate": batch}
    line = json.dumps(ends[source])
    return f"v{version}\n{json.dumps(head)}\n{f'0:{line}' if version == 2 else line}"


def commit(batch: int, partitions: int = 2, stores: list[str] | None = None, has_ids: bool = False) -> str:
    if not has_ids:
        return f'v1\n{{"nextBatchWatermarkMs":{BEGIN_MS + batch * TRIGGER_MS}}}'
    ids = [[state_id(batch + 1, p, store) for store in stores or ["default"]] for p in range(partitions)]
    return "v2\n" + json.dumps({"nextBatchWatermarkMs": BEGIN_MS + batch * TRIGGER_MS, "stateUniqueIds": {"0": ids}})


def state_id(version: int, partition: int = 0, store: str = "default") -> str:
    return f"{version:04d}-{partition}-{store}"


def _operator(partitions: int, stores: list[str], v2: bool) -> Tree:
    path = "state/0/_stateSchema/default/0_abc"
    schema = {"stateSchemaFilePaths": [f"file:{HERE}/{path}"]} if v2 else {}
    info = [{"storeName": store, "numColsPrefixKey": 0, "numPartitions": partitions, **schema} for store in stores]
    text = json.dumps({"operatorInfo": {"operatorId": 0, "operatorName": "stateStoreSave"}, "stateStoreInfo": info})
    if v2:
        return {"state/0/_metadata/v2/0": f"v2\n{text}", "state/0/_metadata/v2/.0.crc": "crc", path: "schema"}
    return {"state/0/_metadata/metadata": f"v1\n{text}", "state/0/_metadata/.metadata.crc": "crc"}


def _store(provider: str, partition: int, store: str, versions: list[int], base_every: int) -> Tree:
    root = f"state/0/{partition}" if store == "default" else f"state/0/{partition}/{store}"
    tree: Tree = {}
    for version in versions:
        stem = f"{version}_{state_id(version, partition, store)}" if provider == "format-2" else str(version)
        # The oldest version kept has its base, or nothing could be loaded.
        has_base = provider == "rocksdb" or version % base_every == 0 or (version == versions[0] and version > 1)
        if provider == "hdfs":
            tree[f"{root}/{stem}.delta"] = "delta"
            tree |= {f"{root}/{stem}.snapshot": "snapshot"} if has_base else {}
            continue
        if provider != "rocksdb":
            tree[f"{root}/{stem}.changelog"] = "changelog"
        if has_base:
            sst = f"{version:06d}-{partition}.sst"
            tree[f"{root}/SSTs/{sst}"] = "sst"
            tree[f"{root}/{stem}.zip"] = "v1\n" + json.dumps({"sstFiles": [{"dfsSstFileName": sst, "sizeBytes": 3}]})
    return tree
