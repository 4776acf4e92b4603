"""A checkpoint in a storage as an inventory: one walk over the names, and the texts when they are asked for."""

from __future__ import annotations

import zipfile
import zlib
from io import BytesIO
from pathlib import Path

from anabranch.checkpoint.checkpoint import Checkpoint, assemble_checkpoint
from anabranch.storage.local import DirectoryStorage, Storage

# An entry of a log has a few kB; what is larger than this is none, and is not read into memory.
_MOST_BYTES = 16 << 20
# A zip holds RocksDB's small files (its SSTs lie beside it); one this large is none.
_MOST_ZIP_BYTES = 256 << 20
_CRC_MAGIC = b"crc\0"


def look(path: Path) -> Checkpoint:
    """Raises OSError where the directory itself cannot be listed."""
    return read_checkpoint(DirectoryStorage(path))


def read_checkpoint(storage: Storage) -> Checkpoint:
    listing, unreadable = storage.list()
    return assemble_checkpoint(storage.path, listing, StoredContents(storage), storage.locations, unreadable)


def is_checkpoint(path: Path) -> bool:
    """Whether anything of a checkpoint is there: `metadata` alone is written before the first batch."""
    return any((path / name).is_dir() for name in ("offsets", "commits", "state")) or (
        (path / "metadata").is_file() and (path / "sources").is_dir()
    )


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
    """Hadoop's `.crc`: a mark, the length of a piece, and the CRC-32 of each piece."""
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
