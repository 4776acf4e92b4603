"""Which Java is used: that of JAVA_HOME, else the first on the PATH, and only if it is new enough."""

from __future__ import annotations

from pathlib import Path

import pytest

from anabranch.errors import Failed
from anabranch.spark.java import Java, find_java


def _make_java(home: Path, *, release: str = "", says: str = "", mode: int = 0o755) -> Path:
    """A Java installation: bin/java, and usually a file `release` that names the version."""
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
    monkeypatch.setenv("PATH", str(tmp_path / "none"))


def _on_path(monkeypatch: pytest.MonkeyPatch, *directories: Path) -> None:
    # /bin and /usr/bin have the `sh` and `cat` that the fake Java needs.
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


def test_a_java_without_a_release_file_is_started_to_get_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = _make_java(tmp_path / "jvm", says='Picked up JAVA_TOOL_OPTIONS: -Dx\nopenjdk version "25" 2025-09-16')
    _on_path(monkeypatch, java.parent)
    assert find_java() == Java(java, "25")


@pytest.mark.parametrize(
    ("version", "major"), [("1.8.0_392", 8), ("11.0.2", 11), ("17", 17), ("17.0.15", 17), ("21.0.2.1", 21), ("25", 25)]
)
def test_the_major_version_is_parsed_in_the_old_and_the_new_format(version: str, major: int) -> None:
    assert Java(Path("java"), version).major == major


def test_without_java_the_error_says_how_to_install_it() -> None:
    with pytest.raises(Failed) as error:
        find_java()
    assert error.value.code == "java-missing"
    assert "apt-get install openjdk-17-jre-headless" in str(error.value)


def test_a_java_home_without_java_is_an_error_that_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(Failed) as error:
        find_java()
    assert (error.value.code, error.value.reason.params) == ("java-home-invalid", {"home": str(tmp_path)})


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.2"])
def test_an_old_java_is_rejected_with_its_path_and_version(
    version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java = _make_java(tmp_path / "jvm", release=version)
    _on_path(monkeypatch, java.parent)
    with pytest.raises(Failed) as error:
        find_java()
    assert error.value.code == "java-too-old"
    assert error.value.reason.params == {"path": str(java), "version": version, "oldest": 17}


@pytest.mark.parametrize(
    ("says", "mode"), [("Unable to locate a Java Runtime.", 0o755), ("never run", 0o644)], ids=["a stub", "not executable"]
)
def test_a_program_that_is_not_java_is_rejected(says: str, mode: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _on_path(monkeypatch)
    _make_java(tmp_path / "jvm", says=says, mode=mode)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jvm"))
    with pytest.raises(Failed) as error:
        find_java()
    assert error.value.code == "java-version-unknown"
