"""Our own package as a zip: executors of a cluster have another Python environment, and import what the driver sends them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import anabranch

# The oldest time that a zip can hold: the same sources always give the same bytes.
_TIME = (1980, 1, 1, 0, 0, 0)


def package_zip(directory: Path) -> Path:
    """Built once for each content, and kept: its name tells the version and the content."""
    sources = list(_sources(Path(anabranch.__file__).parent))
    digest = hashlib.sha256()
    for name, content in sources:
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    target = directory / f"anabranch-{anabranch.__version__}-{digest.hexdigest()[:12]}.zip"
    if not target.exists():
        directory.mkdir(parents=True, exist_ok=True)
        # Moved into place when it is whole: another process may build the same.
        building = directory / f".{target.name}.{os.getpid()}"
        with ZipFile(building, "w", ZIP_DEFLATED) as archive:
            for name, content in sources:
                archive.writestr(ZipInfo(name, _TIME), content, ZIP_DEFLATED)
        building.replace(target)
    return target


def _sources(root: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(root.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield f"{root.name}/{path.relative_to(root).as_posix()}", path.read_bytes()
