"""Spark's Python workers import nothing from the directory in which a command is typed."""

from __future__ import annotations

import os
import stat

import pytest

from anabranch.spark.session import _python_path
from tests.support.harness import Project

# What workers import, of the standard library, of ours, and of what they need.
PLANTED = ("json", "struct", "socket", "anabranch", "pandas", "pyarrow", "pyspark", "numpy", "cloudpickle", "sitecustomize")
PLANT = """
import os
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "executed"), "a") as file:
    file.write(__name__ + "\\n")
raise ImportError("planted")
"""


@pytest.mark.kafka
def test_modules_that_are_planted_in_the_project_are_not_executed(project: Project, kafka: dict[str, str], topic: str) -> None:
    pipelines = "".join(f'[pipeline.{name}]\ntopics = {{ source = "{topic}" }}\n' for name in ("visits-log", "visits-sessions"))
    project.configure(f'[kafka]\nbootstrap_servers = "{kafka["bootstrap.servers"]}"\n{pipelines}')
    project.ok("generate", topic, "--seed", "1", "--count", "20")
    for name in PLANTED:
        (project.directory / f"{name}.py").write_text(PLANT, encoding="utf-8")
    # The state of a session is processed in Python.
    done = project("run", "visits-log", "visits-sessions", "--to", "console", "--until-caught-up")
    assert (done.returncode, "Printing visit=" in done.stdout) == (0, True), done.stderr
    assert not (project.directory / "executed").exists()
    assert stat.S_IMODE((project.directory / ".anabranch").stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("given", "left"),
    [({}, ""), ({"PYTHONPATH": ""}, ""), ({"PYTHONPATH": ":/a::b:"}, "/a:b"), ({"PYTHONPATH": "/a"}, "/a")],
)
def test_an_empty_entry_of_the_python_path_is_left_out(given: dict[str, str], left: str) -> None:
    assert os.pathsep == ":"
    assert _python_path(given, []) == {"PYTHONSAFEPATH": "1", "PYTHONPATH": left}
