"""A checkpoint directory as an inventory: one walk over the names, and the texts when they are asked for.

Decides nothing. Looks only where Spark keeps something: a directory that is no checkpoint is not walked through.
"""

from __future__ import annotations

import os
import zipfile
import zlib
from pathlib import Path

from anabranch.core.inventory import Inventory, take_inventory

# The longest way down: state/<operator>/<partition>/<store>/SSTs.
_MOST_LEVELS = 5
_LEVEL_1 = ("offsets", "commits", "sources", "state", "_rewind")
# An entry of a log has a few kB; what is larger than this is none, and is not read into memory.
_MOST_BYTES = 16 << 20
# Sizes take two thirds of a walk. Those of the logs and of Hadoop's checksums tell nothing that reading does not.
_NOT_MEASURED = ("offsets", "commits")
_CRC_MAGIC = b"crc\0"


def look(path: Path) -> Inventory:
    """Raises OSError where the directory itself cannot be listed."""
    listing: dict[str, dict[str, int]] = {}
    unreadable: list[str] = []
    root = os.path.abspath(path)  # noqa: PTH100 - resolve() would follow links; both names are wanted.
    listing[""] = _walk_root(root, listing, unreadable)
    locations = tuple(dict.fromkeys((str(Path(root).resolve()), root)))
    return take_inventory(root, listing, DiskContents(root), locations, tuple(unreadable))


def is_checkpoint(path: Path) -> bool:
    """Whether anything of a checkpoint is there: `metadata` alone is written before the first batch."""
    return any((path / name).is_dir() for name in ("offsets", "commits", "state")) or (
        (path / "metadata").is_file() and (path / "sources").is_dir()
    )


def _walk_root(root: str, listing: dict[str, dict[str, int]], unreadable: list[str]) -> dict[str, int]:
    with os.scandir(root) as entries:
        found = [(entry.name, entry.is_dir(), entry) for entry in entries]
    for name, is_dir, _ in found:
        if is_dir and name in _LEVEL_1:
            _walk(f"{root}/{name}", name, listing, unreadable, 1 if name != "_rewind" else _MOST_LEVELS)
    return {name: _size(entry) for name, is_dir, entry in found if not is_dir}


def _walk(path: str, name: str, listing: dict[str, dict[str, int]], unreadable: list[str], level: int) -> None:
    names: dict[str, int] = {}
    directories: list[str] = []
    is_measured = name not in _NOT_MEASURED
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                file = entry.name
                # Links are not followed below the first level: they could lead round in a circle.
                if entry.is_dir(follow_symlinks=False):
                    directories.append(file)
                else:
                    names[file] = _size(entry) if is_measured and not file.endswith(".crc") else -1
    except FileNotFoundError:
        return
    except OSError:
        unreadable.append(name)
    listing[name] = names
    if level < _MOST_LEVELS:
        for directory in directories:
            _walk(f"{path}/{directory}", f"{name}/{directory}", listing, unreadable, level + 1)


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat().st_size
    except OSError:
        # Gone since, or a link to nowhere: it is listed, and reading it will tell.
        return -1


class DiskContents:
    """The texts of a directory's files, each read once."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._texts: dict[str, str | None] = {}
        self._zips: dict[str, str | None] = {}

    def text(self, path: str) -> str | None:
        if path not in self._texts:
            content = _read(f"{self._root}/{path}")
            self._texts[path] = None if content is None else content.decode("utf-8", errors="replace")
        return self._texts[path]

    def zip_metadata(self, path: str) -> str | None:
        if path not in self._zips:
            self._zips[path] = _zip_metadata(f"{self._root}/{path}")
        return self._zips[path]

    def fits_checksum(self, path: str) -> bool | None:
        directory, _, name = f"{self._root}/{path}".rpartition("/")
        content, sums = _read(f"{directory}/{name}"), _read(f"{directory}/.{name}.crc")
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


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - 20,000 of them: Path costs as much as the read.
            if os.fstat(file.fileno()).st_size > _MOST_BYTES:
                return None
            return file.read(_MOST_BYTES)
    except (OSError, ValueError):
        return None


def _zip_metadata(path: str) -> str | None:
    try:
        with zipfile.ZipFile(path) as archive, archive.open("metadata") as entry:
            return entry.read(_MOST_BYTES).decode("utf-8", errors="replace")
    except Exception:
        # A torn zip makes zipfile throw nearly anything: BadZipFile, struct.error, zlib.error, NotImplementedError, ...
        return None
