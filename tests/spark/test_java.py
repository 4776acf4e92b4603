"""Which Java is used: JAVA_HOME's, else the first on the PATH, and only one that is new enough."""

from __future__ import annotations

from pathlib import Path

import pytest

from anabranch.errors import Failed
from anabranch.spark.java import Java, find_java


def _make_java(home: Path, *, release: str = "", says: str = "", mode: int = 0o755) -> Path:
    """An installation as they lie on disks: bin/java, and mostly a file `release` that names the version."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{says}\nEND\n")
    java.chmod(mode)
    if release:
        (home / "release").write_text(f'IMPLEMENTOR="Debian"\nJAVA_VERSION="{release}"\nOS_NAME="Linux"\n')
    return java


@pytest.fixture(autouse=True)
def _no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    # With a shell and `cat` for our own programs, without any Java.
    monkeypatch.setenv("PATH", str(tmp_path / "none"))


def _on_path(monkeypatch: pytest.MonkeyPatch, *directories: Path) -> None:
    monkeypatch.setenv("PATH", ":".join([*map(str, directories), "/bin", "/usr/bin"]))


def test_java_home_is_preferred_to_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = _make_java(tmp_path / "first", release="21.0.2")
    second = _make_java(tmp_path / "second", release="17.0.15")
    _on_path(monkeypatch, first.parent, second.parent)
    assert find_java() == Java(first, "21.0.2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "second"))
    assert find_java() == Java(second, "17.0.15")


def test_a_link_to_java_is_followed_to_its_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = _make_java(tmp_path / "jvm", release="17.0.15")
    links = tmp_path / "links"
    links.mkdir()
    (links / "java").symlink_to(real)
    _on_path(monkeypatch, links)
    assert find_java() == Java(links / "java", "17.0.15")


def test_a_java_without_a_release_file_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = _make_java(tmp_path / "jvm", says='Picked up JAVA_TOOL_OPTIONS: -Dx\nopenjdk version "25" 2025-09-16')
    _on_path(monkeypatch, java.parent)
    assert find_java() == Java(java, "25")


@pytest.mark.parametrize(
    ("version", "major"), [("1.8.0_392", 8), ("11.0.2", 11), ("17", 17), ("17.0.15", 17), ("21.0.2.1", 21), ("25", 25)]
)
def test_the_major_version_is_read_in_old_and_new_spelling(version: str, major: int) -> None:
    assert Java(Path("java"), version).major == major


def test_no_java_at_all_is_said_with_how_to_install_it() -> None:
    with pytest.raises(Failed, match="there is no Java on this machine") as error:
        find_java()
    assert "apt-get install openjdk-17-jre-headless" in str(error.value)


def test_a_java_home_without_java_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(Failed, match=f"JAVA_HOME is {tmp_path}, and there is no bin/java in it"):
        find_java()


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.2"])
def test_an_old_java_is_refused_with_its_path_and_version(
    version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java = _make_java(tmp_path / "jvm", release=version)
    _on_path(monkeypatch, java.parent)
    with pytest.raises(Failed, match="needs 17 or newer") as error:
        find_java()
    assert f"{java} is Java {version}" in error.value.fact


@pytest.mark.parametrize(
    ("says", "mode"), [("Unable to locate a Java Runtime.", 0o755), ("never run", 0o644)], ids=["a stub", "not executable"]
)
def test_what_only_looks_like_java_is_no_java(says: str, mode: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _on_path(monkeypatch)
    _make_java(tmp_path / "jvm", says=says, mode=mode)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jvm"))
    with pytest.raises(Failed, match="does not say which Java it is"):
        find_java()
