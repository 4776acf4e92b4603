"""Files of ours: where they are, beside a checkpoint; each is there whole or not at all, and begins with a format number.

What we read again goes through one codec. An unknown format number, kind or field is refused as written by a newer version:
it is never read as "nothing known", nothing is defaulted, and a file that cannot be read is not overwritten.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from uuid import uuid4

from anabranch.errors import PERMISSION_DENIED
from anabranch.storage.base import Storage
from anabranch.storage.local import LocalStorage
from anabranch.storage.messages import FILE_DAMAGED, FORMAT_NEWER, NAME_NOT_UTF8

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")
# What a project keeps: its owner's alone, since records, logs and results are in it.
HOME = ".anabranch"


@dataclass(frozen=True)
class Format(Generic[T]):
    """One kind of file: its name, the number of its format, and the frozen dataclass that it holds."""

    kind: str
    number: int
    type: type[T]
    # An earlier number -> what turns its fields into those of this one. What it did not hold becomes "not known".
    earlier: Mapping[int, Callable[[dict[str, Any]], dict[str, Any]]] = field(default_factory=dict)

    @cached_property
    def _adapter(self) -> TypeAdapter[T]:
        # Loaded where something is written or read: it takes a tenth of a second.
        from pydantic import TypeAdapter

        return TypeAdapter(self.type)

    @property
    def head(self) -> dict[str, Any]:
        return {"format": self.number, "kind": self.kind}

    def encode(self, value: T, indent: int | None = None) -> str:
        text = json.dumps({**self.head, **self.as_json(value)}, indent=indent, ensure_ascii=False)
        try:
            text.encode()
        except UnicodeEncodeError as error:
            # Before anything is written: a plan that cannot name its files could not be resumed.
            raise NAME_NOT_UTF8(name=ascii(text[: error.end].rpartition('"')[2])) from None
        return text

    def read(self, path: Path) -> T | None:
        """None: there is no such file."""
        text = read_text(path)
        return None if text is None else self.decode(text, str(path))

    def write(self, path: Path, value: T, indent: int | None = None) -> None:
        write_whole(path, self.encode(value, indent))

    def as_json(self, value: T) -> dict[str, Any]:
        fields: dict[str, Any] = self._adapter.dump_python(value, mode="json")
        return fields

    def decode(self, text: str, path: str) -> T:
        return self.from_json(parse(text, path), path)

    def from_json(self, found: Mapping[str, Any], path: str) -> T:
        check_head(found, self, path)
        fields = {name: value for name, value in found.items() if name not in self.head}
        if (upgrade := self.earlier.get(found["format"])) is not None:
            fields = upgrade(fields)
        value = self._validate(fields, path)
        # What was read is exactly what would be written: no field was dropped, none was defaulted.
        written = self.as_json(value)
        if unknown := list(_only_in(fields, written)):
            raise FORMAT_NEWER(path=path, what=f"unknown field {', '.join(unknown)}")
        if missing := list(_only_in(written, fields)):
            raise FILE_DAMAGED(path=path, what=f"missing field {', '.join(missing)}")
        return value

    def _validate(self, fields: Mapping[str, Any], path: str) -> T:
        from pydantic import ValidationError

        try:
            return self._adapter.validate_json(json.dumps(fields), strict=True)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise FILE_DAMAGED(path=path, what=f"{place}: {first['msg']}") from None


def parse(text: str, path: str) -> dict[str, Any]:
    """The object in a text of ours, whatever its format."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise FILE_DAMAGED(path=path, what=f"it is not JSON ({error})") from None
    if not isinstance(found, dict):
        raise FILE_DAMAGED(path=path, what="it is no JSON object")
    return found


def check_head(found: Mapping[str, Any], known: Format[Any], path: str) -> None:
    if found.get("format") is None:
        raise FILE_DAMAGED(path=path, what="it has no format number")
    if found["format"] != known.number and found["format"] not in known.earlier:
        raise FORMAT_NEWER(path=path, what=f"format {found['format']}, this version knows {known.number}")
    if found.get("kind") != known.kind:
        raise FORMAT_NEWER(path=path, what=f"kind {found.get('kind')!r}, expected {known.kind!r}")


def _only_in(one: Any, other: Any, above: str = "") -> Iterator[str]:
    """The fields of one that the other does not have."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for name in one:
            if name not in other:
                yield f"{above}{name}"
            else:
                yield from _only_in(one[name], other[name], f"{above}{name}.")
    elif isinstance(one, list) and isinstance(other, list):
        for number, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from _only_in(left, right, f"{above}{number}.")


def write_whole(path: Path, text: str) -> None:
    """A reader, and a crash at any moment, sees the old content or the new one."""
    make_directory(path.parent)
    temporary = path.with_name(f".{path.name}.{uuid4().hex}.tmp")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except PermissionError:
        raise PERMISSION_DENIED(path=str(path.parent)) from None
    finally:
        temporary.unlink(missing_ok=True)


def append_line(path: Path, line: str, *, is_durable: bool = False) -> None:
    """One write of one short line: two never mix. What a crash cut off at the end of the file stays on a line of its own."""
    make_directory(path.parent)
    with path.open("ab+") as file:
        # Looked at and written by one at a time: in the middle of another's write its line would look cut off.
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(max(0, file.seek(0, os.SEEK_END) - 1))
        begin = "" if file.read(1) in (b"", b"\n") else "\n"
        file.write(f"{begin}{line}\n".encode())
        if is_durable:
            file.flush()
            os.fsync(file.fileno())


def make_directory(directory: Path) -> bool:
    """With those above it; False: it was there. A new `.anabranch` is closed to others, whoever makes it first."""
    home = next((above for above in (directory, *directory.parents) if above.name == HOME), None)
    try:
        if home is not None and home != directory and not home.exists():
            make_directory(home)
        directory.mkdir(0o700 if directory == home else 0o777, parents=True)
    except FileExistsError:
        return False
    return True


def read_text(path: Path) -> str | None:
    """None: there is no such file."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError:
        raise PERMISSION_DENIED(path=str(path)) from None
    except IsADirectoryError:
        raise FILE_DAMAGED(path=str(path), what="it is a directory") from None


def names_in(directory: Path) -> list[str]:
    """None if it is not there."""
    try:
        return [path.name for path in directory.iterdir()]
    except FileNotFoundError:
        return []
    except PermissionError:
        raise PERMISSION_DENIED(path=str(directory)) from None
    except NotADirectoryError:
        raise FILE_DAMAGED(path=str(directory), what="it is no directory") from None


def remove(path: Path) -> None:
    path.unlink(missing_ok=True)


@dataclass(frozen=True)
class CheckpointLocation:
    """Where a checkpoint is, and what is kept beside it. Nothing else builds such a path."""

    path: Path

    def storage(self) -> Storage:
        return LocalStorage(self.path)

    @property
    def lease(self) -> Path:
        return self.beside("lease")

    @property
    def lease_lock(self) -> Path:
        """On file systems that lock files and no directories."""
        return self.beside("lease.lock")

    @property
    def baseline(self) -> Path:
        return self.beside("baseline.json")

    @property
    def definition(self) -> Path:
        """Of the pipeline that ran on it."""
        return self.beside("definition.json")

    @property
    def history(self) -> Path:
        return self.beside("history.jsonl")

    @property
    def stop_request(self) -> Path:
        return self.beside("stop")

    @property
    def operation_lock(self) -> Path:
        """The same of a checkpoint that is not ours, whose query knows no lease."""
        return self.path / "_rewind" / "lock"

    def others(self) -> list[CheckpointLocation]:
        """The directories beside it: the same pipeline's checkpoints for other sinks."""
        around = self.path.parent
        beside = sorted(path for path in around.iterdir() if path.is_dir() and path != self.path) if around.is_dir() else []
        return [CheckpointLocation(path) for path in beside]

    def below(self) -> list[CheckpointLocation]:
        """The directories in it."""
        return [CheckpointLocation(path) for path in sorted(self.path.iterdir()) if path.is_dir()]

    def beside(self, suffix: str) -> Path:
        return self.path.with_name(f"{self.path.name}.{suffix}")

    def __str__(self) -> str:
        return str(self.path)
