"""anabranch.toml as far as it can be understood: its tree, and what is wrong with its text.

A line that is not TOML is left out and reading goes on, so that one look shows every error. What follows a broken header is
left out with it: those lines would count for the section above.
"""

from __future__ import annotations

import errno
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anabranch.errors import Misused
from anabranch.project import messages

FILE_NAME = "anabranch.toml"
_LINE_OF_ERROR = re.compile(r" \(at line (\d+), column \d+\)$")


@dataclass(frozen=True)
class SettingsFile:
    path: Path
    tree: Mapping[str, Any]
    # Without those that are not TOML: they are empty here, so that every line keeps its number.
    lines: Sequence[str]
    errors: Sequence[Misused]

    def line_of(self, key: Sequence[str]) -> int | None:
        """The line that sets a key: the first up to which the file has it. TOML's own reader is the judge."""
        return next((number for number, tree in _growing(self.lines) if _has(tree, key)), None)


def read_settings_file(directory: Path) -> SettingsFile:
    path = directory / FILE_NAME
    try:
        # With or without a byte-order mark: editors that write one mean the same.
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        # A link to nowhere is not "no file": whoever made it meant another one.
        missing = [_unreadable(path, errno.ENOENT)] if path.is_symlink() else []
        return SettingsFile(path, {}, (), missing)
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        byte = f"byte 0x{error.object[error.start]:02x}"
        return SettingsFile(path, {}, (), [messages.SETTINGS_NOT_UTF8(file=str(path), reason=byte, line=line)])
    except OSError as error:
        return SettingsFile(path, {}, (), [_unreadable(path, error.errno or 0)])
    return _parsed(path, text)


def _parsed(path: Path, text: str) -> SettingsFile:
    lines = text.replace("\r\n", "\n").split("\n")
    errors: list[Misused] = []
    while True:
        try:
            return SettingsFile(path, tomllib.loads("\n".join(lines)), lines, errors)
        except tomllib.TOMLDecodeError as error:
            errors.append(messages.SETTINGS_MALFORMED(file=str(path), reason=_reason(error)))
            for number in _left_out(lines, _LINE_OF_ERROR.search(str(error))):
                lines[number] = ""


def _reason(error: tomllib.TOMLDecodeError) -> str:
    return _LINE_OF_ERROR.sub(lambda found: f" in line {found[1]}", str(error))


def _left_out(lines: Sequence[str], place: re.Match[str] | None) -> range:
    """The lines that are left out because of one error; always at least one that is not empty yet."""
    if place is None or not lines[first := int(place[1]) - 1].strip():
        # Something that begins and never ends: everything from the last line on up to which the file is TOML.
        return range(max((number for number, _ in _growing(lines)), default=0), len(lines))
    if not lines[first].lstrip().startswith("["):
        return range(first, first + 1)
    after = (number for number in range(first + 1, len(lines)) if lines[number].lstrip().startswith("["))
    return range(first, next(after, len(lines)))


def _growing(lines: Sequence[str]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The tree of the first line, of the first two, and so on; without those that end inside a value."""
    for number in range(1, len(lines) + 1):
        try:
            yield number, tomllib.loads("\n".join(lines[:number]))
        except tomllib.TOMLDecodeError:
            continue


def _has(tree: Any, key: Sequence[str]) -> bool:
    """What is below a value, as the number of an entry in a list, is where the value is."""
    return not key or not isinstance(tree, Mapping) or (key[0] in tree and _has(tree[key[0]], key[1:]))


def _unreadable(path: Path, number: int) -> Misused:
    remedies = {
        errno.EISDIR: f"move that directory away: mv {path} {path}.old",
        errno.EACCES: f"chmod u+r {path}",
        errno.ENOENT: f"it is a link to {path.readlink()}: mend it" if path.is_symlink() else "",
    }
    remedy = remedies.get(number) or "replace it by a file"
    return messages.SETTINGS_UNREADABLE(file=str(path), reason=os.strerror(number), remedy=remedy)
