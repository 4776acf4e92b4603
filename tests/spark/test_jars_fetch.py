"""Fetches jars with the real Ivy from a mirror on this disk: once, checked, never partially. Needs no network."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from anabranch.errors import Failed, Misused
from anabranch.spark.jars import Jar, cache_dir, ensure_jars, locked, missing
from tests.support.harness import PATIENCE_S, Project

pytestmark = pytest.mark.kafka

JARS = locked("spark")
TOTAL = len(JARS)
# All that a fetch leaves in the cache.
LEFT = ["spark", "spark-fetch.log", "spark.lock"]
FETCH = """
import sys
from pathlib import Path
from anabranch.spark.jars import ensure_jars
ensure_jars("spark", Path(sys.argv[1]), lambda done, total: print(done, total, flush=True))
"""


@dataclass(frozen=True)
class Mirror:
    """Like a company mirror: a directory in Maven's layout, and an Ivy settings file that names it as the only source."""

    directory: Path

    @property
    def settings(self) -> Path:
        path = f"{self.directory}/[organisation]/[module]/[revision]/[module]-[revision]"
        file = self.directory / "ivysettings.xml"
        file.write_text(
            '<ivysettings><settings defaultResolver="mirror"/><resolvers><filesystem name="mirror" m2compatible="true">'
            f'<ivy pattern="{path}.pom"/><artifact pattern="{path}.[ext]"/>'
            "</filesystem></resolvers></ivysettings>",
            encoding="utf-8",
        )
        return file

    def path(self, jar: Jar) -> Path:
        return self.directory / jar.group.replace(".", "/") / jar.artifact / jar.version / jar.file_name

    def add(self, jar: Jar, content: Path) -> None:
        self.path(jar).parent.mkdir(parents=True)
        shutil.copy(content, self.path(jar))
        about = f"<groupId>{jar.group}</groupId><artifactId>{jar.artifact}</artifactId><version>{jar.version}</version>"
        pom = f"<project><modelVersion>4.0.0</modelVersion>{about}</project>"
        self.path(jar).with_suffix(".pom").write_text(pom, encoding="utf-8")


@pytest.fixture(scope="module")
def users_jars() -> list[Path]:
    """The jars of the user's own cache, which other tests need too."""
    return ensure_jars("spark")


@pytest.fixture
def mirror(users_jars: list[Path], tmp_path: Path) -> Mirror:
    mirror = Mirror(tmp_path / "mirror")
    for jar, path in zip(JARS, users_jars, strict=True):
        mirror.add(jar, path)
    return mirror


@pytest.fixture(autouse=True)
def home(users_jars: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and an empty home directory for Java."""
    assert users_jars  # found before the cache is replaced
    # Brackets and spaces occur in real paths, and have a meaning in Ivy's patterns.
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache (of) [mine]"))
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", f"-Duser.home={home}")
    return home


@pytest.fixture
def fill(users_jars: list[Path]) -> Callable[[], None]:
    """Copies all jars to the test's cache."""

    def fill() -> None:
        (cache_dir() / "spark").mkdir(parents=True)
        for path in users_jars:
            shutil.copy(path, cache_dir() / "spark")

    return fill


def test_all_jars_are_fetched_once_from_the_mirror_with_progress_and_nothing_is_written_to_the_home_directory(
    mirror: Mirror, home: Path
) -> None:
    reported: list[tuple[int, int]] = []
    paths = ensure_jars("spark", mirror.settings, lambda *count: reported.append(count))
    assert reported == [(done, TOTAL) for done in range(TOTAL + 1)]
    assert [path.name for path in paths] == [jar.file_name for jar in JARS]
    assert (missing("spark"), _cached()) == ((), LEFT)
    assert list(home.iterdir()) == []

    reported.clear()
    assert ensure_jars("spark", mirror.settings, lambda *count: reported.append(count)) == paths
    assert reported == []


def test_a_jar_with_the_wrong_hash_is_fetched_again_and_only_that_one(mirror: Mirror, fill: Callable[[], None]) -> None:
    fill()
    (cache_dir() / "spark" / JARS[3].file_name).write_bytes(b"part of a jar")
    assert missing("spark") == (JARS[3],)
    reported: list[tuple[int, int]] = []
    ensure_jars("spark", mirror.settings, lambda *count: reported.append(count))
    assert (reported, missing("spark")) == ([(0, 1), (1, 1)], ())


def test_a_jar_with_the_wrong_bytes_is_rejected_and_does_not_reach_the_cache(mirror: Mirror, fill: Callable[[], None]) -> None:
    fill()
    for jar in JARS[3:5]:
        (cache_dir() / "spark" / jar.file_name).unlink()
    mirror.path(JARS[3]).write_bytes(b"<html>Please log in to the proxy</html>")
    with pytest.raises(Failed) as error:
        ensure_jars("spark", mirror.settings)
    assert error.value.code == "jar-hash-mismatch"
    assert error.value.reason.params == {
        "missing": 1,
        "total": TOTAL,
        "jar_set": "spark",
        "first": f"{JARS[3].group}:{JARS[3].artifact}:{JARS[3].version}",
        "log": str(cache_dir() / "spark-fetch.log"),
    }
    # The good one stays: the next attempt has less to fetch.
    assert (missing("spark"), _cached()) == ((JARS[3],), LEFT)
    assert not (cache_dir() / "spark" / JARS[3].file_name).exists()


def test_an_interrupted_fetch_leaves_no_partial_jar_and_the_next_one_cleans_up(mirror: Mirror, users_jars: list[Path]) -> None:
    # A mirror that stops sending in the middle: the last jar is a pipe that nothing is written to.
    mirror.path(JARS[-1]).unlink()
    os.mkfifo(mirror.path(JARS[-1]))
    fetch = _start_fetch(mirror)
    assert fetch.stdout is not None
    while not fetch.stdout.readline().startswith(f"{TOTAL - 1} "):
        assert fetch.poll() is None
    os.killpg(fetch.pid, signal.SIGKILL)
    fetch.communicate(timeout=PATIENCE_S)
    assert missing("spark") == JARS
    assert any(name.startswith("spark-fetch-") for name in _cached())

    mirror.path(JARS[-1]).unlink()
    shutil.copy(users_jars[-1], mirror.path(JARS[-1]))
    ensure_jars("spark", mirror.settings)
    assert (missing("spark"), _cached()) == ((), LEFT)


def test_two_concurrent_processes_both_succeed_and_one_of_them_fetches(mirror: Mirror) -> None:
    both = [_start_fetch(mirror), _start_fetch(mirror)]
    reported = sorted(fetch.communicate(timeout=PATIENCE_S)[0] for fetch in both)
    assert [fetch.returncode for fetch in both] == [0, 0]
    assert reported == ["", "".join(f"{done} {TOTAL}\n" for done in range(TOTAL + 1))]
    assert (missing("spark"), _cached()) == ((), LEFT)


def test_without_cache_and_network_the_error_says_what_is_missing_and_what_to_do(
    make_project: Callable[[str], Project], tmp_path: Path
) -> None:
    project = make_project("project")
    nowhere = Mirror(tmp_path / "nowhere")
    nowhere.directory.mkdir()
    project.configure(f'[jars]\nivy_settings = "{nowhere.settings}"')
    done = project("broker", "start", "--port", "0")
    assert (done.returncode, done.stdout) == (1, "")
    assert "[jar-missing]: missing 46 of 46 broker jars: at.yawk.lz4:lz4-java:1.10.2 " in done.stderr
    log = cache_dir() / "broker-fetch.log"
    assert "jars.ivy_settings" in done.stderr
    assert str(log) in done.stderr
    assert "UNRESOLVED DEPENDENCIES" in log.read_text()
    assert _cached() == ["broker", "broker-fetch.log", "broker.lock"]


def test_a_missing_settings_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(Misused) as error:
        ensure_jars("spark", tmp_path / "none.xml")
    assert (error.value.code, error.value.reason.params) == ("ivy-settings-missing", {"path": str(tmp_path / "none.xml")})


def _cached() -> list[str]:
    return sorted(path.name for path in cache_dir().iterdir())


def _start_fetch(mirror: Mirror) -> subprocess.Popen[str]:
    """In its own process group, which can be killed as a whole."""
    return subprocess.Popen(
        [sys.executable, "-c", FETCH, str(mirror.settings)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
