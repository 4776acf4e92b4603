"""A session that does not start: what Spark did not like, and no JVM left."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

STARTS = """
import sys
from pathlib import Path
from anabranch.errors import Failed
from anabranch.spark import session
from anabranch.spark.jars import ensure_jars
directory = Path(sys.argv[1])
phases, jvms, launch = [], [], session.launch_jvm
session.launch_jvm = lambda *given: jvms.append(launch(*given)) or jvms[-1]
try:
    session.start_session(
        {"spark.master": ""}, zone="UTC", jars=ensure_jars("spark"), scratch_dir=directory,
        log_file=directory / "spark.log", phase=phases.append,
    )
except Failed as failed:
    print(failed.code, failed.reason.params["reason"], phases, jvms[0].process.poll() is not None, sep="|")
"""


@pytest.mark.spark
def test_a_setting_that_spark_does_not_take_is_said_in_its_own_words(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", STARTS, str(tmp_path)], capture_output=True, text=True, check=False)
    code, reason, phases, is_gone = done.stdout.strip().split("|")
    assert (code, reason, is_gone) == ("spark-not-started", "Could not parse Master URL: ''", "True"), done.stderr
    assert phases == "['launching its JVM', 'connecting to its JVM']"
