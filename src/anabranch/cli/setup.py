"""`python -m anabranch.spark`: all that can be done ahead of a first run, with progress. What `make install` calls."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import get_args

from anabranch.errors import AnabranchError
from anabranch.project.project import open_project
from anabranch.spark.class_archive import archive_path, build_archive
from anabranch.spark.jars import JarSet, ensure_jars
from anabranch.spark.java import find_java


def main() -> int:
    try:
        # At once: each is mostly waiting for a network.
        with ThreadPoolExecutor() as pool:
            list(pool.map(_fetch, get_args(JarSet)))
        _archive_classes()
    except AnabranchError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


def _fetch(jar_set: JarSet) -> None:
    ensure_jars(
        jar_set,
        _ivy_settings(),
        progress=lambda done, total: _say(f"Fetching the {jar_set} jars: {done} of {total}", done in (0, total)),
    )


def _ivy_settings() -> Path | None:
    """Of the project here, where a company mirror may be named."""
    return open_project(Path()).ivy_settings


def _archive_classes() -> None:
    java, jars = find_java(), ensure_jars("spark")
    if archive_path(java, jars).exists():
        return
    _say("Letting Java learn Spark's classes, so that later starts take half the time (half a minute, once) ...", True)
    if not build_archive(java, jars):
        _say("That did not work; everything runs without it, only slower to start.", True)


def _say(text: str, always: bool) -> None:
    """On a terminal one line that changes; elsewhere only the lines that matter."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{text}" + ("\n" if always else ""))
    elif always:
        sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
