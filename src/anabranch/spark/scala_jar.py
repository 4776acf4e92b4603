"""What of ours runs inside Spark: the package's Scala files, compiled once on this machine, by the compiler that Spark brings.

So they always fit the Spark that is installed, and no compiled code is kept among the sources. The jar's name says of which
sources and which Spark it is; a newer version of either has another jar.
"""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Sequence
from importlib.metadata import version
from importlib.resources import as_file, files
from pathlib import Path
from tempfile import TemporaryDirectory

from filelock import FileLock

from anabranch.spark.jars import cache_dir, ensure_jars, pyspark_home
from anabranch.spark.java import find_java
from anabranch.spark.messages import SCALA_NOT_COMPILED

# Warnings are errors: an unused or deprecated part of Spark is seen when it comes.
_OPTIONS = ("-usejavacp", "-deprecation", "-Xlint", "-Werror")


def session_jars() -> list[Path]:
    """What a session has on its class path beside Spark: the locked jars, and ours. Fetches and compiles what is missing."""
    return [*ensure_jars("spark"), ensure_scala_jar()]


def is_compiled() -> bool:
    with as_file(files("anabranch")) as package:
        return _jar_of(_sources(package)).exists()


def ensure_scala_jar() -> Path:
    """Takes about 5 s the first time."""
    with as_file(files("anabranch")) as package:
        sources = _sources(package)
        jar = _jar_of(sources)
        if not jar.exists():
            jar.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(jar.parent / "compile.lock"):
                # Looked for again: another process may have compiled it while this one waited for the lock.
                if not jar.exists():
                    _compile(sources, jar)
        return jar


def _sources(package: Path) -> list[Path]:
    return sorted(package.rglob("*.scala"))


def _jar_of(sources: Sequence[Path]) -> Path:
    content = hashlib.sha256(version("pyspark").encode())
    for source in sources:
        content.update(source.read_bytes())
    return cache_dir() / "scala" / f"anabranch-{content.hexdigest()[:16]}.jar"


def _compile(sources: Sequence[Path], jar: Path) -> None:
    # Beside the jar, so that it is moved into place at once: a compilation that was killed leaves no half of one.
    with TemporaryDirectory(dir=jar.parent) as directory:
        made = Path(directory) / jar.name
        compiler = [str(find_java().path), "-cp", f"{pyspark_home()}/jars/*", "scala.tools.nsc.Main", *_OPTIONS]
        done = subprocess.run(
            [*compiler, "-d", str(made), *map(str, sources)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        if done.returncode != 0 or not made.exists():
            log = jar.parent / "compile.log"
            log.write_text(done.stdout, encoding="utf-8")
            raise SCALA_NOT_COMPILED(log=str(log), exit_code=done.returncode, spark=version("pyspark"))
        made.replace(jar)
