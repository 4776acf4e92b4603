"""The jars: which ones (the lock beside this file), where they are (the user's cache), and how they get there (Ivy).

A jar counts only with the hash of the lock. Fetched jars are checked in a directory of their own and moved in one by one,
so a fetch that is cut off leaves nothing half; a file lock lets two processes that fetch at once share one fetch.
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

from anabranch.errors import Failed, Misused
from anabranch.spark.java import find_java

JarSet = Literal["spark", "broker"]
# Told after each jar: how many of the missing ones are here, of how many.
Progress = Callable[[int, int], None]


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
    """Those of the lock that are not in the cache, or are there with another hash."""
    return tuple(jar for jar in locked(jar_set) if not _is_good(cache_dir() / jar_set / jar.file_name, jar))


def ensure_jars(jar_set: JarSet, ivy_settings: Path | None = None, progress: Progress = lambda _done, _all: None) -> list[Path]:
    """The paths of a set's jars, all present and right; fetches what is not."""
    if missing(jar_set):
        cache_dir().mkdir(parents=True, exist_ok=True)
        with FileLock(cache_dir() / f"{jar_set}.lock"):
            # Looked at again: another process may have fetched them while we waited.
            if wanted := missing(jar_set):
                _fetch(jar_set, wanted, ivy_settings, progress)
    return [cache_dir() / jar_set / jar.file_name for jar in locked(jar_set)]


def _is_good(path: Path, jar: Jar) -> bool:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == jar.sha256
    except FileNotFoundError:
        return False


def _fetch(jar_set: JarSet, wanted: Sequence[Jar], ivy_settings: Path | None, progress: Progress) -> None:
    if ivy_settings is not None and not ivy_settings.is_file():
        raise Misused(f"jars.ivy_settings is {ivy_settings}, and there is no such file.", "correct it in anabranch.toml")
    for leftover in cache_dir().glob(f"{jar_set}-fetch-*"):
        shutil.rmtree(leftover, ignore_errors=True)  # of a fetch that was cut off; we hold the lock
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


def _run_ivy(work_dir: Path, wanted: Sequence[Jar], ivy_settings: Path | None, log: Path, progress: Progress) -> None:
    (work_dir / "ivy.xml").write_text(_ivy_xml(wanted), encoding="utf-8")
    command = [
        *(str(find_java().path), "-cp", str(_ivy_jar())),
        # Nothing of ours goes to the home directory, where other builds keep theirs.
        f"-Divy.default.ivy.user.dir={work_dir / 'ivy-home'}",
        "org.apache.ivy.Main",
        *(("-settings", str(ivy_settings.resolve())) if ivy_settings else ()),
        *("-cache", str(work_dir / "ivy-cache"), "-ivy", "ivy.xml"),
        # Below the working directory: the brackets of a user's own directory would be part of the pattern.
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
            ivy.kill()  # or it would go on writing into a directory that is being removed
            raise


def _follow(ivy: subprocess.Popen[str], log_file: TextIO, total: int, progress: Progress) -> None:
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
        raise Failed("pyspark is not installed in this Python.", "pip install anabranch")
    return Path(spec.submodule_search_locations[0])


def _ivy_jar() -> Path:
    return next((pyspark_home() / "jars").glob("ivy-*.jar"))


def _not_fetched(jar_set: JarSet, absent: Sequence[Jar], came: bool, log: Path) -> Failed:
    first = f"{absent[0].group}:{absent[0].artifact}:{absent[0].version}"
    return Failed(
        f"{len(absent)} of the {len(locked(jar_set))} jars of the set {jar_set} {'is' if len(absent) == 1 else 'are'} missing: "
        f"{first} {'came with another content than the lock says' if came else 'could not be fetched'}.",
        *(() if came else ("connect to a network, then the same command again",)),
        "behind a company mirror: set jars.ivy_settings in anabranch.toml to your Ivy settings file",
        f"what Ivy said: {log}",
    )
