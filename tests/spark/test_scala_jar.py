"""What of ours runs inside Spark is compiled once, by one process, and by none where it cannot be."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from anabranch.errors import AnabranchError
from anabranch.spark import scala_jar
from tests.support.harness import python_path

pytestmark = pytest.mark.spark

COMPILE = "from anabranch.spark.scala_jar import ensure_scala_jar; print(ensure_scala_jar())"


def test_two_processes_compile_one_jar_and_leave_nothing_else(tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": python_path(Path(__file__).parents[2])}
    both = [
        subprocess.Popen([sys.executable, "-c", COMPILE], env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    said = [process.communicate()[0].strip() for process in both]
    jar = Path(said[0])
    assert said == [str(jar), str(jar)]
    assert jar.is_relative_to(tmp_path)
    assert sorted(path.name for path in jar.parent.iterdir()) == sorted([jar.name, "compile.lock"])


def test_a_source_that_does_not_compile_is_an_error_with_the_compilers_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "Wrong.scala"
    source.write_text("object Wrong { val number: Int = noSuchThing }")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(scala_jar, "_sources", lambda _package: [source])
    assert not scala_jar.is_compiled()
    with pytest.raises(AnabranchError) as raised:
        scala_jar.ensure_scala_jar()
    assert raised.value.code == "scala-not-compiled"
    assert "noSuchThing" in Path(str(raised.value.reason.params["log"])).read_text()
    assert not scala_jar.is_compiled()
