"""What differs between one machine and a cluster, as far as it is decided before Spark is asked; what its errors mean."""

from __future__ import annotations

import hashlib
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from anabranch.errors import AnabranchError, Failed
from anabranch.pipeline.builtin.catalog import BUILTIN
from anabranch.spark.executors import SharedPath, _failure, _marked, judge
from anabranch.spark.master import check_reachable, is_local
from anabranch.spark.package_zip import package_zip
from anabranch.spark.probe import Answer, Mark, look
from anabranch.spark.session import (
    SETTINGS,
    _environment,
    _python_path,
    _pythons,
    are_partitions_chosen,
    effective_settings,
    master_of,
)
from anabranch.streaming.startable import keeps_state

CLUSTER = {"master": "spark://one:7077"}


@pytest.mark.parametrize("master", ["local", "local[*]", "local[2]", "local[2,3]"])
def test_local_is_this_jvm(master: str) -> None:
    assert is_local(master)


@pytest.mark.parametrize("master", ["local-cluster[2,1,1024]", "spark://one:7077", "yarn", "k8s://one:6443", "localhost", ""])
def test_everything_else_has_executors_of_its_own(master: str) -> None:
    assert not is_local(master)


def test_the_option_wins_over_the_file() -> None:
    assert master_of({}) == "local[*]"
    assert master_of(CLUSTER) == "spark://one:7077"
    assert master_of(CLUSTER, {"spark.master": "local[2]"}) == "local[2]"


def test_addresses_of_this_machine_are_not_for_a_cluster_unless_they_are_set() -> None:
    assert effective_settings({})["spark.driver.host"] == SETTINGS["spark.driver.host"] == "127.0.0.1"
    assert not {"spark.driver.host", "spark.driver.bindAddress"} & effective_settings(CLUSTER).keys()
    assert effective_settings({**CLUSTER, "driver.host": "ten"})["spark.driver.host"] == "ten"


def test_the_scratch_directory_of_a_cluster_s_driver_is_not_that_of_its_executors(tmp_path: Path) -> None:
    here, there = (_environment(effective_settings(change), tmp_path, []) for change in ({}, CLUSTER))
    assert (here.get("SPARK_LOCAL_IP"), here.get("SPARK_LOCAL_DIRS")) == ("127.0.0.1", None)
    assert (there.get("SPARK_LOCAL_IP"), there.get("SPARK_LOCAL_DIRS")) == (None, str(tmp_path))
    chosen = _environment(effective_settings({**CLUSTER, "local.dir": "/disk"}), tmp_path, [])
    assert "SPARK_LOCAL_DIRS" not in chosen


def test_a_worker_that_spark_starts_on_the_driver_imports_what_was_sent_to_the_executors() -> None:
    path = _python_path({"PYTHONPATH": "/mine"}, [Path("/tmp/anabranch.zip")])["PYTHONPATH"]
    assert path.split(os.pathsep) == ["/tmp/anabranch.zip", "/mine"]


def test_executors_run_the_python_that_is_set_and_ours_otherwise() -> None:
    elsewhere = {"pyspark.python": "/opt/python"}
    assert _pythons(effective_settings(CLUSTER))["PYSPARK_PYTHON"] == sys.executable
    assert _pythons(effective_settings({**CLUSTER, **elsewhere})) == {
        "PYSPARK_PYTHON": "/opt/python",
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }
    assert _pythons(effective_settings(elsewhere))["PYSPARK_PYTHON"] == sys.executable


def test_partitions_are_to_be_chosen_on_a_cluster_by_what_keeps_state() -> None:
    assert are_partitions_chosen({})
    assert not are_partitions_chosen(CLUSTER)
    assert are_partitions_chosen(CLUSTER, {"spark.sql.shuffle.partitions": "8"})
    assert {pipeline.name for pipeline in BUILTIN.pipelines if not keeps_state(pipeline)} == {
        "browsers-stateless",
        "visits-lake",
        "visits-log",
    }


def test_one_master_that_accepts_is_enough_and_none_is_said_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as master, socket.create_server(("127.0.0.1", 0)) as closed:
        address, gone = (f"127.0.0.1:{one.getsockname()[1]}" for one in (master, closed))
        closed.close()
        check_reachable(f"spark://{gone},{address}")
        with pytest.raises(Failed) as failed:
            check_reachable(f"spark://{gone}")
    assert failed.value.code == "master-unreachable"
    assert f"{gone}: Connection refused" in failed.value.text
    # Not ours to judge.
    for master_url in ("yarn", "k8s://127.0.0.1:1", "spark://without-a-port", "local[*]"):
        check_reachable(master_url)


def test_the_package_is_the_same_zip_each_time_and_is_imported_from_it(tmp_path: Path) -> None:
    one, other = package_zip(tmp_path / "one"), package_zip(tmp_path / "other")
    assert one.name == other.name
    assert hashlib.sha256(one.read_bytes()).digest() == hashlib.sha256(other.read_bytes()).digest()
    before = one.stat().st_mtime_ns
    assert (package_zip(tmp_path / "one"), one.stat().st_mtime_ns) == (one, before)
    script = "import sys; sys.path.insert(0, sys.argv[1]); import anabranch.spark.probe as probe; print(probe.__file__)"
    # -I: nothing but the zip and the standard library; -S: nothing that is installed.
    done = subprocess.run([sys.executable, "-I", "-S", "-c", script, str(one)], capture_output=True, text=True, check=False)
    assert done.stdout.startswith(str(one)), done.stderr


def test_an_executor_that_sees_and_writes_has_nothing_to_say_and_no_mark_is_left(tmp_path: Path) -> None:
    shared = [SharedPath(tmp_path / "not" / "yet"), SharedPath(tmp_path / "lake", is_written=False)]
    with _marked(shared) as marks:
        assert [(Path(mark.path).parent, mark.is_written) for mark in marks] == [(tmp_path, True)]
        (answer,) = look(marks, [])
        assert (answer.unseen, answer.unwritable) == ((), ())
        assert list(judge([answer], marks)) == []
        # What the executor has written is there.
        assert len(list(tmp_path.iterdir())) == 2
        elsewhere = [Mark(marks[0].path, "of another machine", True), Mark(str(tmp_path / "no" / "mark"), "", False)]
        (stranger,) = look(elsewhere, [])
        assert stranger.unseen == tuple(mark.path for mark in elsewhere)
    assert list(tmp_path.iterdir()) == []


def test_hosts_that_do_not_see_a_path_or_cannot_write_to_it_are_named_once() -> None:
    marks = [Mark("/shared/checkpoints/.mark", "x", True), Mark("/shared/lake/.mark", "x", False)]
    answers = [
        Answer("beta", 1, (marks[0].path,), ()),
        Answer("alpha", 2, (marks[0].path,), ()),
        Answer("alpha", 3, (marks[0].path,), ()),
        Answer("gamma", 4, (), (marks[0].path,)),
    ]
    found = [
        (refused.code, refused.reason.params["directory"], refused.reason.params["hosts"]) for refused in judge(answers, marks)
    ]
    assert found == [
        ("path-not-shared", "/shared/checkpoints", ["alpha", "beta"]),
        ("path-not-writable", "/shared/checkpoints", ["gamma"]),
    ]


# The lines by which they are told apart, in Spark 4.2's words; what stands around them is shortened.
_DIFFERS = (
    "pyspark.errors.exceptions.base.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.9"
    " than that in driver: 3.11, PySpark cannot run with different minor versions.\n"
)
_OTHER_SPARK = (
    "Job aborted due to stage failure: Task 0 in stage 0.0 failed 4 times, most recent failure: Lost task 0.3 in stage 0.0"
    " (TID 3) (127.0.0.1 executor 0): java.io.InvalidClassException: org.apache.spark.rdd.RDD; local class incompatible: stream"
    " classdesc serialVersionUID = 2156047220611086279, local class serialVersionUID = -2646589594477856326\n"
)
_NO_PYTHON = 'java.io.IOException: Cannot run program "/nowhere/python": error=2, No such file or directory\n'
_BROKEN = (
    "An error occurred while calling z:org.apache.spark.api.python.PythonRDD.collectAndServe.\n"
    ": org.apache.spark.SparkException: EOFException occurred while reading the port number from pyspark.daemon's stdout.\n"
    "\tat org.apache.spark.api.python.PythonWorkerFactory.startDaemon(PythonWorkerFactory.scala:1)\n"
)


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (_DIFFERS, "executor-python-differs", "executors run Python 3.9"),
        (_OTHER_SPARK, "executors-other-spark", "which is 4.2.0"),
        (_NO_PYTHON, "executor-python-missing", "have no /nowhere/python"),
        (_BROKEN, "executors-failed", "reading the port number from pyspark.daemon's stdout"),
    ],
)
def test_what_keeps_executors_from_working_has_a_name(error: str, code: str, says: str) -> None:
    failed = _failure(error, Path("run.log"))
    assert isinstance(failed, AnabranchError)
    assert (failed.code, says in failed.text) == (code, True), failed.text


def test_a_job_that_ctrl_c_cancelled_ends_as_ctrl_c_does() -> None:
    """The interrupt itself is lost where it meets the release of a Java object."""
    error = "org.apache.spark.SparkException: Job 0 cancelled as part of cancellation of all jobs\n"
    assert isinstance(_failure(error, Path("run.log")), KeyboardInterrupt)
