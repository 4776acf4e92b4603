"""The Java that everything here runs on: $JAVA_HOME's if that is set, else the first one on the PATH. As Spark chooses."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from anabranch.errors import Failed

# Spark 4.2 and Kafka 4.3 both need it.
OLDEST_MAJOR = 17
_INSTALL = "install Java 17 or newer (Debian, Ubuntu: apt-get install openjdk-17-jre-headless; macOS: brew install openjdk@17)"


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
        raise Failed(f"{path} does not say which Java it is.", _INSTALL)
    java = Java(path, version)
    if java.major < OLDEST_MAJOR:
        raise Failed(
            f"{path} is Java {version}; Spark 4.2 needs {OLDEST_MAJOR} or newer.", _INSTALL, "or point JAVA_HOME to it"
        )
    return java


def _executable() -> Path:
    if home := os.environ.get("JAVA_HOME"):
        path = Path(home) / "bin" / "java"
        if not path.is_file():
            raise Failed(f"JAVA_HOME is {home}, and there is no bin/java in it.", "unset JAVA_HOME, or correct it", _INSTALL)
        return path
    found = shutil.which("java")
    if found is None:
        raise Failed("there is no Java on this machine.", _INSTALL)
    return Path(found)


def _version(path: Path) -> str | None:
    """From the `release` file beside it where there is one: starting Java only to ask costs a tenth of a second."""
    release = path.resolve().parent.parent / "release"
    if release.is_file() and (line := re.search(r'^JAVA_VERSION="([\d._]+)', release.read_text(), re.M)):
        return line[1]
    try:
        answer = subprocess.run([path, "-version"], capture_output=True, text=True, check=False)
    except OSError:  # not a program of this machine, or not allowed to run
        return None
    said = re.search(r'version "([\d._]+)', answer.stderr)
    return said[1] if said else None
