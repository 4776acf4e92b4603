"""What this user may not read or write is called that: not damage, not absence, and nothing is advised to be moved aside."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from anabranch.delta.engine_errors import file_in, in_one_line, system_error
from anabranch.streaming.failures import cause_of
from tests.support.desk import FOREIGN
from tests.support.drawing import draw, write_tree
from tests.support.harness import BOUND, Project


@pytest.fixture
def project(project: Project) -> Project:
    project.prefix = BOUND
    return project


@contextmanager
def _closed(path: Path, mode: int = 0) -> Iterator[None]:
    before = path.stat().st_mode
    path.chmod(mode)
    try:
        yield
    finally:
        path.chmod(before)


def _denied(project: Project, path: Path, *command: str) -> None:
    done = project(*command)
    assert (done.returncode, "error[permission-denied]" in done.stderr) == (1, True), done.stderr
    assert f"{path}" in done.stderr.splitlines()[-3]
    assert not any(word in done.stderr for word in ("panicked", "backtrace", "Traceback", "aside", "Generic")), done.stderr


def test_a_log_of_operations_that_is_closed_is_not_empty(project: Project, tmp_path: Path) -> None:
    write_tree(draw(), tmp_path / "theirs")
    project.ok("rewind", str(tmp_path / "theirs"), "--to-batch", "3", *FOREIGN, "--yes")
    log = project.directory / ".anabranch" / "operations"
    with _closed(log):
        _denied(project, log, "operations")
        _denied(project, log, "undo", "any", "--yes")
    (operation,) = log.iterdir()
    with _closed(operation / "plan.json"):
        assert " unreadable\n" in project.ok("operations")
        _denied(project, operation / "plan.json", "undo", operation.name, "--yes")
    with _closed(log, 0o500):
        _denied(project, log, "rewind", str(tmp_path / "theirs"), "--to-batch", "2", *FOREIGN, "--yes")


def test_a_checkpoint_that_is_closed_is_not_taken_for_an_empty_one(project: Project, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    write_tree(draw(), theirs)
    rewind = ("rewind", str(theirs), "--to-batch", "3", *FOREIGN, "--yes")
    with _closed(theirs):
        _denied(project, theirs, "checkpoint", str(theirs))
        _denied(project, theirs, *rewind)
    with _closed(theirs / "offsets"):
        _denied(project, theirs / "offsets", *rewind)


def test_a_table_that_is_closed_is_not_damaged(project: Project) -> None:
    table = project.directory / ".anabranch" / "lake" / "visits"
    for offset in (1, 2):
        write_deltalake(table, pa.table({"offset": [offset]}), mode="append")
    for closed in (table, table / "_delta_log", table / "_delta_log" / f"{0:020}.json"):
        with _closed(closed):
            _denied(project, table / "_delta_log", "lake")
    with _closed(table, 0o500):
        _denied(project, table, "lake", "optimize")


@pytest.mark.kafka
def test_a_query_that_may_not_write_its_checkpoint_says_so(project: Project, topic: str) -> None:
    project.ok("produce", topic, text='{"visit_id": 1, "event_time": "2025-09-04T07:00:00"}')
    checkpoint = project.directory / ".anabranch" / "checkpoints" / "visits-log" / "console"
    checkpoint.mkdir(parents=True)
    with _closed(checkpoint, 0o500):
        done = project("run", "visits-log", "--until-caught-up")
    assert (done.returncode, "error[query-forbidden]" in done.stderr) == (1, True), done.stderr
    assert str(checkpoint) in done.stderr
    assert not any(word in done.stderr for word in ("Traceback", "aside", "\tat ")), done.stderr


# As deltalake 1.x writes them.
KERNEL = (
    "Kernel error -> Generic LocalFileSystem error\n          \x1b[31m↳\x1b[0m Unable to open file /lake/_delta_log/0.json\n"
    "           \x1b[31m↳\x1b[0m Permission denied (os error 13)\n"
)
PARQUET = (
    "Failed to parse parquet: External: Generic LocalFileSystem error: Unable to open file /lake/a b.parquet#1: "
    "No space left on device (os error 28)"
)


def test_the_errors_of_deltalake_are_one_line_with_the_file_and_the_systems_number() -> None:
    assert in_one_line(KERNEL) == (
        "Kernel error -> Generic LocalFileSystem error: Unable to open file /lake/_delta_log/0.json: "
        "Permission denied (os error 13)"
    )
    assert (file_in(KERNEL), system_error(KERNEL)) == ("/lake/_delta_log/0.json", 13)
    assert (file_in(PARQUET), system_error(PARQUET)) == ("/lake/a b.parquet", 28)
    assert (file_in("no commits"), system_error("no commits"), in_one_line("")) == (None, None, "")


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        ("java.io.FileNotFoundException: /c/offsets/.22.tmp (Permission denied)", "no permission"),
        ("java.nio.file.AccessDeniedException: /c/offsets", "no permission"),
        ("org.apache.hadoop.security.AccessControlException: Permission denied: user=x", "no permission"),
        ("Caused by: java.lang.OutOfMemoryError: Java heap space", "out of memory"),
        ("org.apache.kafka.common.errors.TopicAuthorizationException: Not authorized to access topics: [visits]", "other"),
        ("org.apache.kafka.common.errors.TimeoutException: java.lang.OutOfMemoryError: Java heap space", "out of memory"),
    ],
)
def test_the_cause_of_a_querys_end_is_told_from_its_text(error: str, cause: str) -> None:
    assert cause_of(error) == cause
