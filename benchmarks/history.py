"""A checkpoint with a long history, made without running it: every file that a stateful query with a changelog leaves."""

from __future__ import annotations

import json
import zipfile
import zlib
from io import BytesIO
from pathlib import Path

PARTITIONS = 2
# As often as Spark's maintenance makes one at a short trigger.
_BASE_EVERY = 50
_CRC_HEAD = b"crc\0" + (512).to_bytes(4, "big")


def write_history(checkpoint: Path, batches: int) -> None:
    """Batches 0 to `batches` - 1, all committed, with state of 2 partitions."""
    for directory in ("offsets", "commits", "sources/0", *(f"state/0/{p}" for p in range(PARTITIONS)), "state/0/_metadata"):
        (checkpoint / directory).mkdir(parents=True)
    stores = [{"storeName": "default", "numColsPrefixKey": 0, "numPartitions": PARTITIONS}]
    operator = {"operatorInfo": {"operatorId": 0, "operatorName": "stateStoreSave"}, "stateStoreInfo": stores}
    _write(checkpoint / "metadata", json.dumps({"id": "2d01b0bc-d1c6-4e4b-b0cf-21b6155f3c1a"}))
    _write(checkpoint / "sources" / "0" / "0", 'v1\n{"visits":{"0":0,"1":0}}')
    _write(checkpoint / "state" / "0" / "_metadata" / "metadata", f"v1\n{json.dumps(operator)}")
    for batch in range(batches):
        at_ms = 1_757_606_666_015 + 15_000 * batch
        head = {"batchWatermarkMs": at_ms, "batchTimestampMs": at_ms, "conf": {"spark.sql.shuffle.partitions": "2"}}
        ends = {"visits": {"0": 50 * (batch + 1), "1": 50 * (batch + 1)}}
        _write(checkpoint / "offsets" / str(batch), f"v1\n{json.dumps(head)}\n{json.dumps(ends)}")
        _write(checkpoint / "commits" / str(batch), f'v1\n{{"nextBatchWatermarkMs":{at_ms}}}')
        for partition in range(PARTITIONS):
            store, version = checkpoint / "state" / "0" / str(partition), batch + 1
            _write(store / f"{version}.changelog", "changes")
            if version % _BASE_EVERY == 0:
                write_file(store / f"{version}.zip", _base())


def _base() -> bytes:
    """A snapshot of RocksDB that needs no other files."""
    content = BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("metadata", 'v1\n{"sstFiles":[]}')
    return content.getvalue()


def write_file(path: Path, content: bytes) -> None:
    """With Hadoop's checksum beside it."""
    path.write_bytes(content)
    sums = b"".join(zlib.crc32(content[at : at + 512]).to_bytes(4, "big") for at in range(0, len(content), 512))
    path.with_name(f".{path.name}.crc").write_bytes(_CRC_HEAD + sums)


def _write(path: Path, text: str) -> None:
    write_file(path, text.encode())
