"""Is this machine ready? Each check is a function that returns its result; a bad one carries a remedy that can be pasted.

Starts no Spark, and leaves nothing behind.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import psutil

from anabranch.errors import AnabranchError
from anabranch.kafka.embedded.broker import embedded_version, find_broker, refuse_taken
from anabranch.project.kafka import admin_of
from anabranch.project.project import Project
from anabranch.spark.class_archive import archive_path
from anabranch.spark.jars import JarSet, cache_dir, locked, missing
from anabranch.spark.java import find_java
from anabranch.spark.scala_jar import is_compiled, session_jars

# What a session of 1 GB, the broker's 512 MB, Python's workers and the rest were observed to need.
_NEEDED_MEMORY_GB = 2.0
# The jars (70 MB), the class archive (180 MB), and space for visits.
_NEEDED_DISK_GB = 2.0
_OLDEST_PYTHON = (3, 11)

_SETUP = "anabranch setup"

Level = Literal["ok", "slow", "bad"]


@dataclass(frozen=True)
class CheckResult:
    check: str
    level: Level
    fact: str
    remedy: str | None = None


def run_checks(project: Project) -> list[CheckResult]:
    home = project.home
    checks: list[tuple[str, Callable[[], CheckResult]]] = [
        ("python", _python),
        ("java", _java),
        ("memory", _memory),
        ("disk", lambda: _disk(project.directory)),
        ("jars: spark", lambda: _jars("spark")),
        ("jars: broker", lambda: _jars("broker")),
        ("decoder", _decoder),
        ("class archive", _class_archive),
        ("PYSPARK_PYTHON", _pyspark_python),
        ("project directory", lambda: _writable("project directory", project.directory)),
        ("privacy", lambda: _privacy(home)),
        ("checkpoints", lambda: _can_rename(home if home.exists() else project.directory)),
        ("port", lambda: _port(project)),
        ("kafka", lambda: _kafka(project)),
    ]
    return [_safely(name, check) for name, check in checks]


def _safely(name: str, check: Callable[[], CheckResult]) -> CheckResult:
    try:
        return check()
    except AnabranchError as error:
        return CheckResult(name, "bad", error.text, error.remedies[0] if error.remedies else None)


def _python() -> CheckResult:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < _OLDEST_PYTHON:
        return CheckResult("python", "bad", f"{version} is too old", "make PYTHON=python3.12 install")
    return CheckResult("python", "ok", f"{version} ({sys.executable})")


def _java() -> CheckResult:
    java = find_java()
    chosen = "by JAVA_HOME" if os.environ.get("JAVA_HOME") else "first on the PATH"
    return CheckResult("java", "ok", f"{java.version} ({java.path}, {chosen}: the one Spark will use)")


def _memory() -> CheckResult:
    free_gb = psutil.virtual_memory().available / 2**30
    if free_gb < _NEEDED_MEMORY_GB:
        remedy = "end other programs, or make Spark smaller: anabranch run ... --set spark.driver.memory=512m"
        return CheckResult("memory", "bad", f"{free_gb:.1f} GB free, {_NEEDED_MEMORY_GB:.0f} GB are needed", remedy)
    return CheckResult("memory", "ok", f"{free_gb:.1f} GB free")


def _disk(directory: Path) -> CheckResult:
    free_gb = shutil.disk_usage(directory).free / 2**30
    if free_gb < _NEEDED_DISK_GB:
        return CheckResult(
            "disk",
            "bad",
            f"{free_gb:.1f} GB free at {directory}",
            f"du -sh {directory}/.anabranch/*   shows what takes the space",
        )
    return CheckResult("disk", "ok", f"{free_gb:.0f} GB free at {directory}")


def _jars(jar_set: JarSet) -> CheckResult:
    name, total, absent = f"jars: {jar_set}", len(locked(jar_set)), missing(jar_set)
    if absent:
        fact = f"{len(absent)} of {total} are missing or have another hash, {absent[0].file_name} the first"
        return CheckResult(name, "bad", fact, _SETUP)
    return CheckResult(name, "ok", f"{total} in {cache_dir() / jar_set}, all hashes right")


def _decoder() -> CheckResult:
    if is_compiled():
        return CheckResult("decoder", "ok", f"compiled for Spark {version('pyspark')}")
    return CheckResult("decoder", "slow", "not compiled yet: the first start of Spark compiles it", _SETUP)


def _class_archive() -> CheckResult:
    if missing("spark") or not is_compiled():
        return CheckResult("class archive", "slow", "not built: jars are missing", _SETUP)
    if archive_path(find_java(), session_jars()).exists():
        return CheckResult("class archive", "ok", "built: Spark starts in half the time")
    return CheckResult("class archive", "slow", "not built: Spark takes twice as long to start", _SETUP)


def _pyspark_python() -> CheckResult:
    given = os.environ.get("PYSPARK_PYTHON")
    if given and shutil.which(given) != sys.executable:
        return CheckResult("PYSPARK_PYTHON", "ok", f"is {given}; anabranch uses {sys.executable} for its workers regardless")
    return CheckResult("PYSPARK_PYTHON", "ok", f"workers use {sys.executable}")


def _writable(check: str, directory: Path) -> CheckResult:
    if os.access(directory, os.W_OK | os.X_OK):
        return CheckResult(check, "ok", f"{directory} can be written to")
    return CheckResult(
        check,
        "bad",
        f"{directory} cannot be written to",
        f"chmod u+wx {directory}   or work elsewhere: anabranch -C DIR ...",
    )


def _privacy(home: Path) -> CheckResult:
    """New ones are made so. An existing one is not changed: a group may share it on purpose."""
    if not home.is_dir():
        return CheckResult("privacy", "ok", f"{home} will be open to its owner only")
    mode = stat.S_IMODE(home.stat().st_mode)
    if mode & 0o077:
        fact = f"{home} is open to other users (mode {mode:o}): records, results and logs are in it"
        return CheckResult("privacy", "slow", fact, f"chmod 700 {home}")
    return CheckResult("privacy", "ok", f"{home} is open to its owner only")


def _can_rename(directory: Path) -> CheckResult:
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
        return CheckResult("checkpoints", "ok", f"the file system of {directory} renames and creates exclusively")
    return CheckResult(
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


def _port(project: Project) -> CheckResult:
    if (broker := find_broker(project.broker_dir)) is not None:
        return CheckResult("port", "ok", f"{broker.port}: the broker of this project")
    if (wanted := project.settings.broker.port) != 0:
        refuse_taken(wanted)
    return CheckResult("port", "ok", f"{wanted} is free for the broker")


def _kafka(project: Project) -> CheckResult:
    is_embedded = project.settings.kafka.bootstrap_servers is None
    # A project without a broker yet is fine; an address in the settings that does not answer is not.
    if is_embedded and find_broker(project.broker_dir) is None:
        return CheckResult("kafka", "slow", "no broker runs for this project", "anabranch broker start")
    admin = admin_of(project)
    version = f"Kafka {embedded_version()}" if is_embedded else admin.version()
    return CheckResult("kafka", "ok", f"{admin.address} answers, {version}, {len(admin.all())} topics")
