"""Lines of files, of a pipe or of a terminal, in the groups in which they arrive.

A text that was saved with a byte-order mark means the same without it. One in UTF-16 is none of lines.
"""

from __future__ import annotations

import codecs
import os
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from select import select

from anabranch.cli import messages
from anabranch.errors import Misused

# A file of any size arrives in parts of this.
_READ_BYTES = 1 << 20
# A terminal gives one line at a time, also of a pasted text. Lines that follow within this time belong together: long enough
# to press Enter behind a pasted text that ends without one, shorter than it takes to type a line.
_PASTE_PAUSE_S = 0.5
# The most bytes of a line that a terminal passes on; it drops the rest without a word.
TERMINAL_LINE_BYTES = 4095

# No longer line is read to its end only to say how long it is.
LONGEST_BYTES = 1 << 26

STDIN = "standard input"


@dataclass(frozen=True)
class Line:
    file: str
    number: int
    text: bytes


@dataclass(frozen=True)
class Group:
    """Lines that arrived together, without the blank ones."""

    lines: list[Line]
    blank: int = 0
    # It began with a byte-order mark, which was left out.
    had_mark: bool = False


def check_files(files: list[Path]) -> None:
    """Before anything is sent of the first one. Nothing is opened: a named pipe can be opened only once."""
    for file in files:
        try:
            mode = file.stat().st_mode
        except OSError as error:
            raise _unreadable(file, error) from None
        if stat.S_ISDIR(mode):
            raise _unreadable(file, IsADirectoryError(21, "it is a directory"))
        if not os.access(file, os.R_OK):
            raise _unreadable(file, PermissionError(13, "Permission denied"))


def read_groups(files: list[Path], most_bytes: int) -> Iterator[Group]:
    """A line of more than `most_bytes` is cut soon behind them, for the caller to reject: a device without lines has no end."""
    if not files:
        yield from read_lines(sys.stdin.fileno(), STDIN, most_bytes)
    for file in files:
        try:
            descriptor = os.open(file, os.O_RDONLY)
        except OSError as error:
            raise _unreadable(file, error) from None
        try:
            yield from read_lines(descriptor, str(file), most_bytes)
        finally:
            os.close(descriptor)


def read_lines(descriptor: int, file: str, most_bytes: int) -> Iterator[Group]:
    """A line that is cut by a read waits for its rest."""
    rest, number, had_mark = b"", 0, False
    chunks = _pasted(descriptor, file) if os.isatty(descriptor) else _read(descriptor, file)
    for chunk in chunks:
        if number == 0 and not rest:
            had_mark, chunk = _without_mark(chunk)
        *whole, rest = (rest + chunk).split(b"\n")
        if len(rest) > most_bytes:
            whole, rest = [*whole, rest], b""
        if group := _group(whole, file, number, had_mark):
            yield group
            had_mark = False
        number += len(whole)
    if rest and (group := _group([rest], file, number, had_mark)):
        yield group


def _group(lines: list[bytes], file: str, number: int, had_mark: bool) -> Group | None:
    numbered = [Line(file, number + i, line.rstrip(b"\r")) for i, line in enumerate(lines, 1)]
    kept = [line for line in numbered if line.text.strip()]
    return Group(kept, len(lines) - len(kept), had_mark) if lines or had_mark else None


def is_utf16(text: bytes) -> bool:
    return text.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))


def _without_mark(chunk: bytes) -> tuple[bool, bytes]:
    return chunk.startswith(codecs.BOM_UTF8), chunk.removeprefix(codecs.BOM_UTF8)


def _read(descriptor: int, file: str) -> Iterator[bytes]:
    while True:
        try:
            chunk = os.read(descriptor, _READ_BYTES)
        except OSError as error:
            raise _unreadable(file, error) from None
        if not chunk:
            return
        yield chunk


def _pasted(terminal: int, file: str) -> Iterator[bytes]:
    """Reads of a terminal that followed each other, as one."""
    reads = _read(terminal, file)
    for chunk in reads:
        while select([terminal], [], [], _PASTE_PAUSE_S)[0]:
            more = next(reads, None)
            if more is None:  # Ctrl-D, which a terminal tells only once
                yield chunk
                return
            chunk += more
        yield chunk


def _unreadable(file: Path | str, error: OSError) -> Misused:
    return messages.INPUT_UNREADABLE(file=str(file), reason=error.strerror)
