"""All results of a plan or an audit, in a file beside it: a JSON line for each, so that millions need no more memory than one.

What was planned is what is sent, also by a resume: nothing is computed a second time.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import astuple
from pathlib import Path
from typing import Any

from anabranch.reprocess.plan import Change
from anabranch.storage.files import make_directory

# The fastest: a result compresses to a tenth by it.
_LEVEL = 1


def write_results(path: Path, changes: Iterable[Change]) -> None:
    write_lines(path, (astuple(change) for change in changes))


def read_results(path: Path) -> Iterator[Change]:
    """As far as the file can be read: the caller knows how many there are."""
    try:
        yield from (Change(*line) for line in read_lines(path))
    except TypeError:
        return


def write_lines(path: Path, lines: Iterable[Any]) -> None:
    make_directory(path.parent)
    with path.open("wb") as file:
        with gzip.open(file, "wt", _LEVEL, encoding="utf-8") as written:
            for line in lines:
                written.write(json.dumps(line, ensure_ascii=False) + "\n")
        file.flush()
        os.fsync(file.fileno())


def read_lines(path: Path) -> Iterator[Any]:
    """As far as the file can be read."""
    try:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                yield json.loads(line)
    except (EOFError, OSError, ValueError):
        return
