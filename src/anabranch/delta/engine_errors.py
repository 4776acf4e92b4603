"""What deltalake's errors say, for people. They come as several coloured lines, or as what Rust prints to find bugs. Pure."""

from __future__ import annotations

import re

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def in_one_line(error: str) -> str:
    """`Kernel error: cannot open it` of lines that hang below each other by arrows."""
    lines = [line.strip().removeprefix("↳").strip() for line in _COLOUR.sub("", error).splitlines()]
    return ": ".join(line for line in lines if line)[:500]


def system_error(error: str) -> int | None:
    """The number of the system's error that caused it, if one did."""
    found = re.search(r"\(os error (\d+)\)", error)
    return int(found[1]) if found else None


def file_in(error: str) -> str | None:
    """The file that could not be opened."""
    found = re.search(r"Unable to open file (.+?)(?:#\d+)?(?:\n|: |$)", _COLOUR.sub("", error))
    return found[1] if found else None
