"""Is this machine ready? Each check is a function that returns a finding; a bad one carries a remedy that can be pasted.

Starts no Spark, changes nothing that stays.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import psutil

from anabranch.errors import AnabranchError
from anabranch.project.project import Project
from anabranch.spark.class_archive import archive_path
from anabranch.spark.jars import JarSet, cache_dir, ensure_jars, locked, missing
from anabranch.spark.java import find_java

# What a session of 1 GB, the broker's 512 MB, Python's workers and the rest were seen to need.
_NEEDED_MEMORY_GB = 2.0
# The jars (70 MB), the class archive (180 MB), and room for visits.
_NEEDED_DISK_GB = 2.0
_OLDEST_PYTHON = (3, 11)

_SETUP = "anabranch setup"

Level = Literal["ok", "slow", "bad"]


@dataclass(frozen=True)
class Finding:
    check: str
    level: Level
    fact: str
    remedy: str | None = None


def examine(project: Project, further: list[Callable[[], Finding]]) -> list[Finding]:
    """All findings; `further` checks are those that other rooms know how to do (Kafka, the broker's port)."""
    home = project.home
    checks: list[tuple[str, Callable[[], Finding]]] = [
        ("python", _python),
        ("java", _java),
        ("memory", _memory),
        ("disk", lambda: _disk(project.directory)),
        ("jars: spark", lambda: _jars("spark")),
        ("jars: broker", lambda: _jars("broker")),
        ("class archive", _class_archive),
        ("PYSPARK_PYTHON", _pyspark_python),
        ("project directory", lambda: _writable("project directory", project.directory)),
        ("checkpoints", lambda: _can_rename(home if home.exists() else project.directory)),
        *((check.__name__, check) for check in further),
    ]
    return [_safely(name, check) for name, check in checks]


def _safely(name: str, check: Callable[[], Finding]) -> Finding:
    try:
        return check()
    except AnabranchError as error:
        return Finding(name, "bad", error.fact, error.ways_out[0] if error.ways_out else None)


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < _OLDEST_PYTHON:
        return Finding("python", "bad", f"{version} is too old", "make PYTHON=python3.12 install")
    return Finding("python", "ok", f"{version} ({sys.executable})")


def _java() -> Finding:
    java = find_java()
    chosen = "by JAVA_HOME" if os.environ.get("JAVA_HOME") else "first on the PATH"
    return Finding("java", "ok", f"{java.version} ({java.path}, {chosen}: the one Spark will use)")


def _memory() -> Finding:
    free_gb = psutil.virtual_memory().available / 2**30
    if free_gb < _NEEDED_MEMORY_GB:
        remedy = "end other programs, or make Spark smaller: anabranch run ... --set spark.driver.memory=512m"
        return Finding("memory", "bad", f"{free_gb:.1f} GB free, {_NEEDED_MEMORY_GB:.0f} GB are needed", remedy)
    return Finding("memory", "ok", f"{free_gb:.1f} GB free")


def _disk(directory: Path) -> Finding:
    free_gb = shutil.disk_usage(directory).free / 2**30
    if free_gb < _NEEDED_DISK_GB:
        return Finding(
            "disk",
            "bad",
            f"{free_gb:.1f} GB free at {directory}",
            f"du -sh {directory}/.anabranch/*   shows what takes the space",
        )
    return Finding("disk", "ok", f"{free_gb:.0f} GB free at {directory}")


def _jars(jar_set: JarSet) -> Finding:
    name, total, absent = f"jars: {jar_set}", len(locked(jar_set)), missing(jar_set)
    if absent:
        fact = f"{len(absent)} of {total} are missing or have another hash, {absent[0].file_name} the first"
        return Finding(name, "bad", fact, _SETUP)
    return Finding(name, "ok", f"{total} in {cache_dir() / jar_set}, all hashes right")


def _class_archive() -> Finding:
    if missing("spark"):
        return Finding("class archive", "slow", "not made: the jars are not there yet", _SETUP)
    if archive_path(find_java(), ensure_jars("spark")).exists():
        return Finding("class archive", "ok", "made: Spark starts in half the time")
    return Finding("class archive", "slow", "not made: Spark takes twice as long to start", _SETUP)


def _pyspark_python() -> Finding:
    given = os.environ.get("PYSPARK_PYTHON")
    if given and shutil.which(given) != sys.executable:
        return Finding("PYSPARK_PYTHON", "ok", f"is {given}; anabranch uses {sys.executable} for its workers all the same")
    return Finding("PYSPARK_PYTHON", "ok", f"workers use {sys.executable}")


def _writable(check: str, directory: Path) -> Finding:
    if os.access(directory, os.W_OK | os.X_OK):
        return Finding(check, "ok", f"{directory} can be written to")
    return Finding(
        check,
        "bad",
        f"{directory} cannot be written to",
        f"chmod u+wx {directory}   or work elsewhere: anabranch -C DIR ...",
    )


def _can_rename(directory: Path) -> Finding:
    """Spark's checkpoints and our own files rely on it: a rename replaces a file at once, an exclusive create fails on one."""
    try:
        with TemporaryDirectory(prefix=".anabranch-doctor-", dir=directory) as scratch:
            old, new = Path(scratch) / "old", Path(scratch) / "new"
            old.write_text("x")
            new.write_text("y")
            old.replace(new)
            right = new.read_text() == "x" and _refuses_exclusive(new)
    except OSError as error:
        right, reason = False, str(error)
    else:
        reason = "a rename or an exclusive create does not do what it must"
    if right:
        return Finding("checkpoints", "ok", f"the file system of {directory} renames and creates exclusively")
    return Finding(
        "checkpoints",
        "bad",
        f"{directory}: {reason}",
        "keep checkpoints on a local disk: checkpoint = ... in anabranch.toml",
    )


def _refuses_exclusive(path: Path) -> bool:
    try:
        path.open("x").close()
    except FileExistsError:
        return True
    return False
