"""Reads a checkpoint from its storage: one walk over the names, and the texts when they are needed. The only reader."""

from __future__ import annotations

import zipfile
import zlib
from io import BytesIO

from anabranch.checkpoint import messages
from anabranch.checkpoint.checkpoint import Checkpoint, assemble_checkpoint
from anabranch.checkpoint.layout import parse_query_id
from anabranch.errors import PERMISSION_DENIED
from anabranch.storage.base import Sizes, Storage
from anabranch.storage.files import CheckpointLocation

# An entry of a log has a few kB; a larger file is none, and is not read into memory.
_MOST_BYTES = 16 << 20
# A zip holds RocksDB's small files (its SSTs are beside it); one this large is none.
_MOST_ZIP_BYTES = 256 << 20
_CRC_MAGIC = b"crc\0"
_LOGS = ("offsets", "commits")


def read_checkpoint(storage: Storage) -> Checkpoint:
    """All of it. Raises OSError where the directory itself cannot be listed."""
    listing, unreadable = storage.list()
    return assemble_checkpoint(storage.path, listing, StoredContents(storage), storage.locations, unreadable)


def read_logs(storage: Storage) -> Checkpoint:
    """Without its state, whose files may be tens of thousands: what has been planned, committed and read."""
    listing: Sizes = {"": dict.fromkeys(storage.names(""), -1), "sources": {}}
    sources = [f"sources/{source}" for source in storage.names("sources")]
    for directory in (*_LOGS, *sources):
        listing[directory] = dict.fromkeys(storage.names(directory), -1)
    return assemble_checkpoint(storage.path, listing, StoredContents(storage), storage.locations)


def read_batch(storage: Storage, batch: int) -> Checkpoint:
    """What the logs hold of one batch and of the one before it: no log is listed, so the cost does not grow with its age."""
    offsets = {str(one): -1 for one in (batch - 1, batch) if one >= 0}
    listing: Sizes = {"": {}, "offsets": offsets, "commits": {str(batch): -1}, "sources": {}}
    # Only the first batch begins where its sources did.
    for source in storage.names("sources") if batch == 0 else ():
        listing[f"sources/{source}"] = {"0": -1}
    return assemble_checkpoint(storage.path, listing, StoredContents(storage), storage.locations)


def read_query_id(storage: Storage) -> str | None:
    """None: there is no `metadata`, or it names none."""
    return parse_query_id(StoredContents(storage).text("metadata") or "")


def open_checkpoint(location: CheckpointLocation) -> Checkpoint:
    """The checkpoint in a directory, or why there is none."""
    path = location.path
    try:
        if not path.is_dir():
            raise messages.NO_CHECKPOINT(path=str(path), nearby=_nearby(location))
        if not is_checkpoint(location.storage()):
            raise messages.NOT_A_CHECKPOINT(path=str(path), nearby=_nearby(location))
        return read_checkpoint(location.storage())
    except PermissionError as error:
        raise PERMISSION_DENIED(path=error.filename or str(path)) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise messages.CHECKPOINT_UNREADABLE(path=str(path), reason=reason) from None


def is_checkpoint(storage: Storage) -> bool:
    """Whether anything of a checkpoint is there: `metadata` alone is written before the first batch."""
    names = set(storage.names(""))
    return bool(names & {"offsets", "commits", "state"}) or {"metadata", "sources"} <= names


def _nearby(location: CheckpointLocation) -> list[str]:
    """Checkpoints below a directory that is none, or beside one that is missing (another sink of the pipeline)."""
    around = location.below() if location.path.is_dir() else location.others()
    found = [f"anabranch checkpoint {one}" for one in around if is_checkpoint(one.storage())]
    return found[:5] or ["anabranch pipelines lists the pipelines; one that has never run has no checkpoint"]


def check_batch(checkpoint: Checkpoint, batch: int) -> None:
    """Refuses a batch that the logs do not have."""
    if batch in checkpoint.offsets or batch in checkpoint.commits:
        return
    if not checkpoint.batches:
        raise messages.NO_BATCH_YET(batch=batch)
    oldest, newest = checkpoint.batches[0], checkpoint.batches[-1]
    missing = messages.BATCH_GONE if batch < oldest else messages.BATCH_MISSING
    raise missing(batch=batch, oldest=oldest, newest=newest)


class StoredContents:
    """The texts of a storage's files, each read once."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._texts: dict[str, str | None] = {}
        self._zips: dict[str, str | None] = {}

    def size(self, path: str) -> int:
        return self._storage.size(path)

    def text(self, path: str) -> str | None:
        if path not in self._texts:
            content = self._storage.read(path, _MOST_BYTES)
            self._texts[path] = None if content is None else content.decode("utf-8", errors="replace")
        return self._texts[path]

    def zip_metadata(self, path: str) -> str | None:
        if path not in self._zips:
            content = self._storage.read(path, _MOST_ZIP_BYTES)
            self._zips[path] = None if content is None else _zip_metadata(content)
        return self._zips[path]

    def fits_checksum(self, path: str) -> bool | None:
        directory, _, name = path.rpartition("/")
        content, sums = (self._storage.read(one, _MOST_BYTES) for one in (path, f"{directory}/.{name}.crc"))
        if content is None or sums is None:
            return None
        return sums == _checksums(content, sums)


def _checksums(content: bytes, sums: bytes) -> bytes:
    """Hadoop's `.crc`: a magic number, the length of a chunk, and the CRC-32 of each chunk."""
    piece = int.from_bytes(sums[4:8], "big")
    if sums[:4] != _CRC_MAGIC or piece <= 0:
        return b""
    pieces = (content[at : at + piece] for at in range(0, len(content), piece))
    return sums[:8] + b"".join(zlib.crc32(one).to_bytes(4, "big") for one in pieces)


def _zip_metadata(content: bytes) -> str | None:
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive, archive.open("metadata") as entry:
            return entry.read(_MOST_BYTES).decode("utf-8", errors="replace")
    except Exception:
        # A torn zip makes zipfile throw nearly anything: BadZipFile, struct.error, zlib.error, NotImplementedError, ...
        return None
