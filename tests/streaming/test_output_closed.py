"""`anabranch run | head`: the reader of what a run prints goes away."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from anabranch.streaming import messages
from tests.support.harness import PATIENCE_S, Project

pytestmark = [pytest.mark.kafka, pytest.mark.spark]
# More than a pipe holds, so that a batch cannot be printed to nobody.
VISITS = 3_000


def test_a_run_whose_reader_has_gone_ends_cleanly_and_prints_the_batch_at_its_next_start(project: Project, topic: str) -> None:
    project.ok("generate", topic, "--count", str(VISITS))
    run = f"{sys.executable} -m anabranch run visits-log --trigger 0s --max-offsets {VISITS}"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{run} | head -n 1"],
        cwd=project.directory,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 1), done.stderr
    assert messages.OUTPUT_CLOSED().text in done.stderr
    assert "Traceback" not in done.stderr
    # It was cut off in the middle: it is not committed.
    batches = json.loads(project.ok("checkpoint", "visits-log", "--json"))["batches"]
    assert [batch["committed"] for batch in batches] == [False]

    printed = project.ok("run", "visits-log", "--until-caught-up")
    assert printed.count("Printing visit=") == VISITS
