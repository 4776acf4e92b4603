"""A lease that is deleted under a running query: nobody else writes, and the query goes on."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.support.harness import Project, await_file

pytestmark = pytest.mark.kafka

VISIT = '{"visit_id": 1, "event_time": "2025-09-04T07:00:00"}'


def _delete_beside(checkpoint: Path) -> None:
    for path in checkpoint.parent.glob(f"{checkpoint.name}.*"):
        path.unlink()


def test_a_second_run_is_refused_and_the_first_goes_on_until_its_checkpoint_is_moved(project: Project, topic: str) -> None:
    checkpoint = project.directory / ".anabranch" / "checkpoints" / "visits-log" / "console"
    project.ok("produce", topic, text=VISIT)
    first = project.start("run", "visits-log", "--trigger", "200ms")
    first.await_line("Printing visit=")
    # Stopped as a machine that swaps stops it: it cannot write its lease again meanwhile.
    first.process.send_signal(signal.SIGSTOP)
    _delete_beside(checkpoint)
    second = project("run", "visits-log", "--until-caught-up")
    assert (second.returncode, "refused[lease-held]" in second.stderr) == (3, True), second.stderr
    assert f"process {first.process.pid}" in second.stderr
    status = json.loads(project.ok("status", "--json"))["pipelines"][0]
    assert f"process {first.process.pid}" in status["running"]

    first.process.send_signal(signal.SIGCONT)
    project.ok("produce", topic, text=VISIT)
    first.await_line("Printing visit=")
    lease = checkpoint.parent / "console.lease"
    await_file(lease)
    assert json.loads(lease.read_text(encoding="utf-8"))["purpose"] == "run"

    # Moved away as a whole between two batches, with what is beside it: the query must not make another one there.
    await_file(checkpoint / "commits" / "1")
    checkpoint.rename(checkpoint.with_name("moved"))
    _delete_beside(checkpoint)
    assert first.await_end() == 1
    assert "error[checkpoint-gone]" in "\n".join(first.err)
