"""Jars by the real Ivy from a mirror on this disk: fetched once, checked, never half. Needs no network."""

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
# What a fetch leaves in the cache, and nothing else.
LEFT = ["spark", "spark-fetch.log", "spark.lock"]
FETCH = """
import sys
from pathlib import Path
from anabranch.spark.jars import ensure_jars
ensure_jars("spark", Path(sys.argv[1]), lambda done, total: print(done, total, flush=True))
"""


@dataclass(frozen=True)
class Mirror:
    """As a company has one: a directory in Maven's layout, and the Ivy settings file that names it as the only source."""

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
    """Those of the user's own cache, which every other test needs too."""
    return ensure_jars("spark")


@pytest.fixture
def mirror(users_jars: list[Path], tmp_path: Path) -> Mirror:
    mirror = Mirror(tmp_path / "mirror")
    for jar, path in zip(JARS, users_jars, strict=True):
        mirror.add(jar, path)
    return mirror


@pytest.fixture(autouse=True)
def home(users_jars: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a home directory that Java takes for the user's."""
    assert users_jars  # found before the cache is another one
    # Brackets and blanks as in real directories: Ivy has a meaning of its own for them.
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache (of) [mine]"))
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", f"-Duser.home={home}")
    return home


@pytest.fixture
def fill(users_jars: list[Path]) -> Callable[[], None]:
    """Puts all jars into the test's cache."""

    def fill() -> None:
        (cache_dir() / "spark").mkdir(parents=True)
        for path in users_jars:
            shutil.copy(path, cache_dir() / "spark")

    return fill


def test_all_jars_come_from_the_users_mirror_once_with_progress_and_nothing_goes_to_the_home_directory(
    mirror: Mirror, home: Path
) -> None:
    told: list[tuple[int, int]] = []
    paths = ensure_jars("spark", mirror.settings, lambda *count: told.append(count))
    assert told == [(done, TOTAL) for done in range(TOTAL + 1)]
    assert [path.name for path in paths] == [jar.file_name for jar in JARS]
    assert (missing("spark"), _cached()) == ((), LEFT)
    assert list(home.iterdir()) == []

    told.clear()
    assert ensure_jars("spark", mirror.settings, lambda *count: told.append(count)) == paths
    assert told == []


def test_a_jar_with_the_wrong_hash_is_fetched_again_and_only_that_one(mirror: Mirror, fill: Callable[[], None]) -> None:
    fill()
    (cache_dir() / "spark" / JARS[3].file_name).write_bytes(b"half of a jar")
    assert missing("spark") == (JARS[3],)
    told: list[tuple[int, int]] = []
    ensure_jars("spark", mirror.settings, lambda *count: told.append(count))
    assert (told, missing("spark")) == ([(0, 1), (1, 1)], ())


def test_a_mirror_that_serves_other_bytes_is_refused_and_they_do_not_reach_the_cache(
    mirror: Mirror, fill: Callable[[], None]
) -> None:
    fill()
    for jar in JARS[3:5]:
        (cache_dir() / "spark" / jar.file_name).unlink()
    mirror.path(JARS[3]).write_bytes(b"<html>Please log in to the proxy</html>")
    with pytest.raises(Failed) as refused:
        ensure_jars("spark", mirror.settings)
    assert refused.value.fact == (
        f"1 of the {TOTAL} jars of the set spark is missing: "
        f"{JARS[3].group}:{JARS[3].artifact}:{JARS[3].version} came with another content than the lock says."
    )
    # The one that was right stays: the next try has less to do.
    assert (missing("spark"), _cached()) == ((JARS[3],), LEFT)
    assert not (cache_dir() / "spark" / JARS[3].file_name).exists()


def test_a_fetch_that_is_cut_off_leaves_nothing_half_and_the_next_one_cleans_up(mirror: Mirror, users_jars: list[Path]) -> None:
    # A mirror that has stopped sending in the middle: the last jar is a pipe that nobody writes to.
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


def test_two_processes_at_once_both_succeed_and_one_of_them_fetches(mirror: Mirror) -> None:
    both = [_start_fetch(mirror), _start_fetch(mirror)]
    told = sorted(fetch.communicate(timeout=PATIENCE_S)[0] for fetch in both)
    assert [fetch.returncode for fetch in both] == [0, 0]
    assert told == ["", "".join(f"{done} {TOTAL}\n" for done in range(TOTAL + 1))]
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
    fetching, fact, *ways_out = done.stderr.splitlines()
    assert fetching == "Fetching Kafka's jars: 0 of 46"
    assert fact.startswith("46 of the 46 jars of the set broker are missing: at.yawk.lz4:lz4-java:1.10.2 could not be fetched")
    log = cache_dir() / "broker-fetch.log"
    assert ways_out == [
        "  -> connect to a network, then the same command again",
        "  -> behind a company mirror: set jars.ivy_settings in anabranch.toml to your Ivy settings file",
        f"  -> what Ivy said: {log}",
    ]
    assert "UNRESOLVED DEPENDENCIES" in log.read_text()
    assert _cached() == ["broker", "broker-fetch.log", "broker.lock"]


def test_a_settings_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(Misused, match=r"jars.ivy_settings is .*none\.xml, and there is no such file"):
        ensure_jars("spark", tmp_path / "none.xml")


def _cached() -> list[str]:
    return sorted(path.name for path in cache_dir().iterdir())


def _start_fetch(mirror: Mirror) -> subprocess.Popen[str]:
    """In a process group of its own, which can be killed as a whole."""
    return subprocess.Popen(
        [sys.executable, "-c", FETCH, str(mirror.settings)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
