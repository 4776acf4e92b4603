"""The jars: which ones (jars.lock beside this file), where they are (the user's cache), and how they are fetched (Ivy).

A jar is used only if it has the hash in jars.lock. Ivy fetches into a separate directory; the jars are checked there and moved
to the cache one by one, so an interrupted fetch leaves no partial jar. A file lock makes concurrent processes share one fetch.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp
from typing import Literal, TextIO
from xml.sax.saxutils import quoteattr

from filelock import FileLock
from platformdirs import user_cache_path

from anabranch.errors import Failed
from anabranch.spark.java import find_java
from anabranch.spark.messages import IVY_SETTINGS_MISSING, JAR_HASH_MISMATCH, JAR_MISSING, PYSPARK_MISSING

JarSet = Literal["spark", "broker"]
# Called after each jar with the number of jars fetched so far, and of jars to fetch.
OnProgress = Callable[[int, int], None]


@dataclass(frozen=True)
class Jar:
    group: str
    artifact: str
    version: str
    sha256: str

    @property
    def file_name(self) -> str:
        return f"{self.artifact}-{self.version}.jar"


def locked(jar_set: JarSet) -> tuple[Jar, ...]:
    lines = files("anabranch.spark").joinpath("jars.lock").read_text(encoding="utf-8").splitlines()
    rows = [line.split() for line in lines if line and not line.startswith("#")]
    return tuple(Jar(*rest) for name, *rest in rows if name == jar_set)


def cache_dir() -> Path:
    return user_cache_path("anabranch") / "jars"


def missing(jar_set: JarSet) -> tuple[Jar, ...]:
    """The jars of the lock that are not in the cache, or have another hash there."""
    return tuple(jar for jar in locked(jar_set) if not _is_good(cache_dir() / jar_set / jar.file_name, jar))


def ensure_jars(
    jar_set: JarSet, ivy_settings: Path | None = None, progress: OnProgress = lambda _done, _all: None
) -> list[Path]:
    """The paths of a set's jars. Fetches those that are missing."""
    if missing(jar_set):
        cache_dir().mkdir(parents=True, exist_ok=True)
        with FileLock(cache_dir() / f"{jar_set}.lock"):
            # Checked again: another process may have fetched them while this one waited for the lock.
            if wanted := missing(jar_set):
                _fetch(jar_set, wanted, ivy_settings, progress)
    return [cache_dir() / jar_set / jar.file_name for jar in locked(jar_set)]


def _is_good(path: Path, jar: Jar) -> bool:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == jar.sha256
    except FileNotFoundError:
        return False


def _fetch(jar_set: JarSet, wanted: Sequence[Jar], ivy_settings: Path | None, progress: OnProgress) -> None:
    if ivy_settings is not None and not ivy_settings.is_file():
        raise IVY_SETTINGS_MISSING(path=str(ivy_settings))
    for leftover in cache_dir().glob(f"{jar_set}-fetch-*"):
        shutil.rmtree(leftover, ignore_errors=True)  # of an interrupted fetch: we hold the lock
    work_dir = Path(mkdtemp(prefix=f"{jar_set}-fetch-", dir=cache_dir()))
    log = cache_dir() / f"{jar_set}-fetch.log"
    try:
        _run_ivy(work_dir, wanted, ivy_settings, log, progress)
        good = [jar for jar in wanted if _is_good(work_dir / jar.file_name, jar)]
        target_dir = cache_dir() / jar_set
        target_dir.mkdir(exist_ok=True)
        for jar in good:
            (work_dir / jar.file_name).replace(target_dir / jar.file_name)
        if absent := [jar for jar in wanted if jar not in good]:
            raise _not_fetched(jar_set, absent, (work_dir / absent[0].file_name).exists(), log)
    finally:
        shutil.rmtree(work_dir, ignore_errors=True)


def _run_ivy(work_dir: Path, wanted: Sequence[Jar], ivy_settings: Path | None, log: Path, progress: OnProgress) -> None:
    (work_dir / "ivy.xml").write_text(_ivy_xml(wanted), encoding="utf-8")
    command = [
        *(str(find_java().path), "-cp", str(_ivy_jar())),
        # Keeps our files out of ~/.ivy2, which other builds use.
        f"-Divy.default.ivy.user.dir={work_dir / 'ivy-home'}",
        "org.apache.ivy.Main",
        *(("-settings", str(ivy_settings.resolve())) if ivy_settings else ()),
        *("-cache", str(work_dir / "ivy-cache"), "-ivy", "ivy.xml"),
        # Relative to the working directory: brackets in the path of a user's directory would be read as part of the pattern.
        *("-retrieve", "[artifact]-[revision].[ext]", "-types", "jar", "bundle"),
    ]
    progress(0, len(wanted))
    with (
        log.open("w", encoding="utf-8") as log_file,
        subprocess.Popen(
            command,
            cwd=work_dir,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        ) as ivy,
    ):
        try:
            _follow(ivy, log_file, len(wanted), progress)
        except BaseException:
            ivy.kill()  # it would keep writing to a directory that is being removed
            raise


def _follow(ivy: subprocess.Popen[str], log_file: TextIO, total: int, progress: OnProgress) -> None:
    assert ivy.stdout is not None
    done = 0
    for line in ivy.stdout:
        log_file.write(line)
        if "[SUCCESSFUL ]" in line and done < total:
            done += 1
            progress(done, total)


def _ivy_xml(wanted: Sequence[Jar]) -> str:
    dependencies = "".join(
        f"<dependency org={quoteattr(jar.group)} name={quoteattr(jar.artifact)} rev={quoteattr(jar.version)}"
        ' transitive="false" conf="default->master"/>'
        for jar in wanted
    )
    return (
        '<ivy-module version="2.0"><info organisation="anabranch" module="jars"/>'
        f'<configurations><conf name="default"/></configurations><dependencies>{dependencies}</dependencies></ivy-module>'
    )


def pyspark_home() -> Path:
    """Where pyspark is installed, without importing it."""
    spec = find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        raise PYSPARK_MISSING()
    return Path(spec.submodule_search_locations[0])


def _ivy_jar() -> Path:
    return next((pyspark_home() / "jars").glob("ivy-*.jar"))


def _not_fetched(jar_set: JarSet, absent: Sequence[Jar], is_fetched: bool, log: Path) -> Failed:
    """`is_fetched`: the first of the absent jars did arrive, with another hash."""
    first = f"{absent[0].group}:{absent[0].artifact}:{absent[0].version}"
    message = JAR_HASH_MISMATCH if is_fetched else JAR_MISSING
    return message(missing=len(absent), total=len(locked(jar_set)), jar_set=jar_set, first=first, log=str(log))
