"""Small files on this machine: each is there whole or not at all. Every effect on a file of ours is one of these."""

from __future__ import annotations

import os
from pathlib import Path
from uuid import uuid4


def write_whole(path: Path, text: str) -> None:
    """A reader, and a crash at any moment, sees the old content or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid4().hex}.tmp")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def append_line(path: Path, line: str, *, is_durable: bool = False) -> None:
    """One write of one short line: two never mix. What a crash cut off at the end of the file stays on a line of its own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - 1))
        begin = "" if file.read(1) in (b"", b"\n") else "\n"
        file.write(f"{begin}{line}\n".encode())
        if is_durable:
            file.flush()
            os.fsync(file.fileno())


def read_text(path: Path) -> str | None:
    """None: there is no such file."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, NotADirectoryError):
        return None


def remove(path: Path) -> None:
    path.unlink(missing_ok=True)
