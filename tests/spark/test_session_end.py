"""How a session ends: also where its JVM no longer answers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

# Stopped as by a debugger, or a machine that swaps: it answers nothing, and does not exit when its input is closed.
HANGS = """
import os, signal, sys
from pathlib import Path
from anabranch.spark.scala_jar import session_jars
from anabranch.spark.session import start_session
directory = Path(sys.argv[1])
session = start_session({}, zone="UTC", jars=session_jars(), scratch_dir=directory, log_file=directory / "spark.log")
os.kill(session.jvm.pid, signal.SIGSTOP)
session.end(timeout_s=1)
print("ended", session.jvm.process.returncode)
"""


@pytest.mark.spark
def test_a_jvm_that_hangs_is_killed_when_its_session_ends(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", HANGS, str(tmp_path)], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode, done.stderr) == ("ended -9\n", 0, "")
