"""jars.lock, and which of its jars are missing from a cache. test_jars_fetch.py tests how they are fetched."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from anabranch.spark.jars import Jar, JarSet, cache_dir, locked, missing

SETS: tuple[JarSet, JarSet] = ("spark", "broker")


@pytest.mark.parametrize(("jar_set", "number"), [("spark", 11), ("broker", 46)])
def test_every_jar_in_the_lock_has_coordinates_and_a_hash(jar_set: JarSet, number: int) -> None:
    jars = locked(jar_set)
    assert len(jars) == number
    assert all(re.fullmatch(r"[0-9a-f]{64}", jar.sha256) for jar in jars)
    assert len({jar.file_name for jar in jars}) == number


def test_the_connector_and_the_broker_each_have_their_own_kafka_client() -> None:
    clients = {jar_set: [jar.version for jar in locked(jar_set) if jar.artifact == "kafka-clients"] for jar_set in SETS}
    assert clients == {"spark": ["3.9.2"], "broker": ["4.3.1"]}


def test_a_jar_file_has_the_name_that_ivy_gives_it() -> None:
    assert Jar("io.delta", "delta-storage", "4.4.0", "0" * 64).file_name == "delta-storage-4.4.0.jar"


@pytest.mark.parametrize("jar_set", SETS)
def test_all_jars_are_missing_from_an_empty_cache_and_checking_creates_nothing(
    jar_set: JarSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert missing(jar_set) == locked(jar_set)
    assert list(tmp_path.iterdir()) == []


def test_a_jar_with_another_hash_than_in_the_lock_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    jar = locked("spark")[0]
    other = cache_dir() / "spark" / jar.file_name
    other.parent.mkdir(parents=True)
    for content in (b"", b"part of a jar"):
        other.write_bytes(content)
        assert hashlib.sha256(content).hexdigest() != jar.sha256
        assert jar in missing("spark")
