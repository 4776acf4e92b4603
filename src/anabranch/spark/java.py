"""Finds the Java that Spark and Kafka run on: that of JAVA_HOME if it is set, else the first on the PATH, as Spark does."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from anabranch.spark.messages import JAVA_HOME_INVALID, JAVA_MISSING, JAVA_TOO_OLD, JAVA_VERSION_UNKNOWN

# Spark 4.2 and Kafka 4.3 both require it.
OLDEST_MAJOR = 17


@dataclass(frozen=True)
class Java:
    path: Path
    version: str

    @property
    def major(self) -> int:
        return int(re.match(r"(?:1\.)?(\d+)", self.version)[1])  # type: ignore[index]


def find_java() -> Java:
    path = _executable()
    version = _version(path)
    if version is None:
        raise JAVA_VERSION_UNKNOWN(path=str(path))
    java = Java(path, version)
    if java.major < OLDEST_MAJOR:
        raise JAVA_TOO_OLD(path=str(path), version=version, oldest=OLDEST_MAJOR)
    return java


def _executable() -> Path:
    if home := os.environ.get("JAVA_HOME"):
        path = Path(home) / "bin" / "java"
        if not path.is_file():
            raise JAVA_HOME_INVALID(home=home)
        return path
    found = shutil.which("java")
    if found is None:
        raise JAVA_MISSING()
    return Path(found)


def _version(path: Path) -> str | None:
    """From the installation's `release` file if there is one: starting Java to ask takes a tenth of a second."""
    release = path.resolve().parent.parent / "release"
    if release.is_file() and (line := re.search(r'^JAVA_VERSION="([\d._]+)', release.read_text(), re.M)):
        return line[1]
    try:
        answer = subprocess.run([path, "-version"], capture_output=True, text=True, check=False)
    except OSError:  # not executable, or built for another machine
        return None
    said = re.search(r'version "([\d._]+)', answer.stderr)
    return said[1] if said else None
