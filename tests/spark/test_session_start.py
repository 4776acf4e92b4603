"""A session that does not start: what Spark did not like, a master that does not answer, and no JVM left."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

STARTS = """
import sys
from pathlib import Path
from anabranch.errors import Failed
from anabranch.spark import session
from anabranch.spark.scala_jar import session_jars
directory = Path(sys.argv[1])
session.REGISTER_TIMEOUT_S = 8.0
phases, jvms, launch = [], [], session.launch_jvm
session.launch_jvm = lambda *given: jvms.append(launch(*given)) or jvms[-1]
try:
    session.start_session(
        {"spark.master": sys.argv[2], "spark.driver.host": "127.0.0.1"},
        zone="UTC", jars=session_jars(), scratch_dir=directory,
        log_file=directory / "spark.log", phase=phases.append,
    )
except Failed as failed:
    print(failed.code, failed.reason.params.get("reason"), phases, jvms[0].process.poll() is not None, sep="|")
"""


def _start(directory: Path, master: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", STARTS, str(directory), master]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.spark
def test_a_setting_that_spark_does_not_take_is_said_in_its_own_words(tmp_path: Path) -> None:
    done = _start(tmp_path, "")
    code, reason, phases, is_gone = done.stdout.strip().split("|")
    assert (code, reason, is_gone) == ("spark-not-started", "Could not parse Master URL: ''", "True"), done.stderr
    assert phases == "['launching its JVM', 'connecting to its JVM']"


@pytest.mark.spark
def test_what_accepts_connections_and_is_no_master_is_not_waited_for_as_long_as_spark_would(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        master = f"spark://127.0.0.1:{silent.getsockname()[1]}"
        done = _start(tmp_path, master)
    code, _, phases, is_gone = done.stdout.strip().split("|")
    assert (code, is_gone) == ("master-silent", "True"), done.stderr
    assert phases == f"['launching its JVM', 'registering at {master}']"
    assert "Traceback" not in done.stderr
