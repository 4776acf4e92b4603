"""Ordinary mistakes on the command line: each has its code and its remedy, none is unexpected, none is accepted in silence."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.support.harness import BOUND, Project, python_path

RUN, REWIND = ("run", "visits-log"), ("rewind", "visits-log", "--yes")
SEVEN = ("reprocess", "visits-counter", "--yes", "--from", "2025-09-04T07:00", "--to", "2025-09-04T07:10")
# The command -> the code of what is said. None of them needs a Kafka.
MISTAKES = [
    (("frobnicate",), "command-malformed"),
    (("topics", "lst"), "command-malformed"),
    (("run",), "command-malformed"),
    ((*RUN, "--no-such-option"), "command-malformed"),
    ((*RUN, "--max-offsets", "1e9"), "command-malformed"),
    ((*RUN, "--max-offsets", "0"), "command-malformed"),
    ((*RUN, "--max-offsets", "99999999999999999999"), "command-malformed"),
    ((*REWIND, "--to-batch", "1e9"), "command-malformed"),
    (("problems", "--limit", "-1"), "command-malformed"),
    (("topics", "create", "visits", "--partitions", "0"), "command-malformed"),
    (("broker", "start", "--port", "70000"), "command-malformed"),
    (("broker", "start", "--port", "true"), "command-malformed"),
    (("produce", "visits", "--partition", "-1"), "command-malformed"),
    (("generate", "--count", "-1"), "command-malformed"),
    (("pipelines", "-C"), "command-malformed"),
    (("-C", "", "pipelines"), "directory-empty"),
    (("-C", ".", "pipelines", "-C", ".."), "directory-twice"),
    (("-C", "a-file", "pipelines"), "not-a-directory"),
    (("-C", "nowhere", "pipelines"), "not-a-directory"),
    ((*RUN, "--trigger", ""), "duration-malformed"),
    ((*RUN, "--trigger=-5s"), "duration-malformed"),
    ((*RUN, "--trigger", "0.4ms"), "duration-too-fine"),
    ((*RUN, "--trigger", "99999999d"), "duration-too-long"),
    ((*RUN, "--future-tolerance", ""), "duration-malformed"),
    ((*RUN, "--to", ""), "unknown-sink"),
    ((*RUN, "--to", "table:"), "sink-needs-target"),
    ((*RUN, "--to", "topic:a b"), "topic-name-illegal"),
    (("run", ""), "unknown-pipeline"),
    (("generate", "--for", ""), "duration-malformed"),
    (("produce", "visits", "."), "input-unreadable"),
    (("produce", "visits", "a-file", "gone"), "input-unreadable"),
    (("consume", "visits", "--raw", "--json"), "raw-and-json"),
    ((*SEVEN, "--dry-run"), "contradiction"),
    (("rewind", "visits-log", "--to-batch", "1"), "cannot-prompt"),
]


@pytest.mark.parametrize(
    ("command", "code"), MISTAKES, ids=lambda value: " ".join(value) if isinstance(value, tuple) else value
)
def test_a_mistake_is_a_usage_error_with_its_code_and_a_remedy(project: Project, command: tuple[str, ...], code: str) -> None:
    (project.directory / "a-file").write_text("")
    done = project(*command)
    assert (done.returncode, f"usage[{code}]: " in done.stderr) == (2, True), done.stderr
    assert "\n  -> " in done.stderr
    assert not (project.directory / ".anabranch").exists()


def test_a_mistake_is_json_where_json_was_asked_for_and_names_the_nearest_command(project: Project) -> None:
    done = project("statu", "--json")
    error = json.loads(done.stdout)["error"]
    assert (error["code"], error["exit_code"]) == ("command-malformed", 2)
    assert "did you mean status?" in error["remedies"]


def test_what_a_terminal_cannot_show_is_escaped(project: Project) -> None:
    """Names that are no UTF-8, and an output that has no such characters."""
    strange = os.fsdecode(b"caf\xc3\xa9-\xff")
    (project.directory / strange).mkdir()
    (project.directory / strange / "anabranch.toml").write_text('[pipeline.visits-lake]\ntable = "caf\u00e9 \u2713"\n')
    for encoding, shown in (("ascii", r"caf\xe9 \u2713"), ("utf-8", "caf\u00e9 \u2713")):
        assert shown in project.ok("-C", strange, "config", PYTHONIOENCODING=encoding)
    wrong = project("-C", f"{strange}-gone", "config", PYTHONIOENCODING="ascii")
    assert (wrong.returncode, "usage[not-a-directory]" in wrong.stderr) == (2, True), wrong.stderr


def test_what_may_not_be_read_or_written_is_called_so(project: Project) -> None:
    file = project.directory / "anabranch.toml"
    file.write_text('timezone = "UTC"')
    file.chmod(0)

    project.prefix = BOUND

    def run(*command: str) -> str:
        done = project(*command)
        assert done.returncode != 0
        return done.stderr

    assert f"chmod u+r {file}" in run("config")
    file.chmod(0o600)
    unreadable = project.directory / "lines"
    unreadable.write_text("x\n")
    unreadable.chmod(0)
    assert "usage[input-unreadable]: lines cannot be read: Permission denied" in run("produce", "visits", "lines")
    project.directory.chmod(0o500)
    try:
        refused = run("broker", "start", "--port", "0")
    finally:
        project.directory.chmod(0o700)
    assert "error[permission-denied]" in refused
    assert str(project.directory / ".anabranch") in refused


# Makes packages look as if they were not installed.
HIDE = """
import importlib.machinery, os
find = importlib.machinery.PathFinder.find_spec
hidden = os.environ["HIDDEN"].split(",")
importlib.machinery.PathFinder.find_spec = classmethod(
    lambda cls, name, path=None, target=None: None if name in hidden else find(name, path, target)
)
"""


@pytest.mark.parametrize(
    ("module", "package", "command"),
    [
        ("deltalake", "deltalake", ("lake",)),
        ("confluent_kafka", "confluent-kafka", ("topics",)),
        ("pydantic", "pydantic", ("config",)),
        ("psutil", "psutil", ("status",)),
    ],
)
def test_a_missing_package_is_named_with_the_way_to_install_it(
    project: Project, tmp_path: Path, module: str, package: str, command: tuple[str, ...]
) -> None:
    (tmp_path / "sitecustomize.py").write_text(HIDE)
    (project.directory / "anabranch.toml").write_text('kafka.bootstrap_servers = "127.0.0.1:1"')
    done = project(*command, PYTHONPATH=python_path(tmp_path), HIDDEN=module)
    assert (done.returncode, "error[package-missing]" in done.stderr) == (1, True), done.stderr
    assert f"-m pip install {package}" in done.stderr


@pytest.mark.kafka
def test_a_run_asks_for_the_packages_of_its_batches_before_it_starts_spark(project: Project, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(HIDE)
    done = project("run", "visits-log", PYTHONPATH=python_path(tmp_path), HIDDEN="pandas")
    assert (done.returncode, "error[package-missing]" in done.stderr) == (1, True), done.stderr
    assert "Starting Spark" not in done.stderr


@pytest.mark.parametrize("module", ["pandas", "pyarrow", "google.protobuf", "google"])
def test_a_package_that_only_a_batch_would_miss_is_missed_before_spark_starts(
    monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    """A run asks for them before its session. Here they are hidden from this process."""
    from importlib.machinery import PathFinder

    from anabranch.errors import Failed
    from anabranch.project.packages import check_packages

    check_packages()
    find = PathFinder.find_spec
    monkeypatch.setattr(PathFinder, "find_spec", lambda name, *rest: None if name == module else find(name, *rest))
    for name in [name for name in sys.modules if name == module or name.startswith(f"{module}.")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(Failed) as caught:
        check_packages()
    assert caught.value.code == "package-missing"
    assert caught.value.reason.params["package"] in ("pandas", "pyarrow", "protobuf")
