"""What a checkpoint was made with: a run that does not fit it, or does not understand it, is refused and changes nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.harness import Project

pytestmark = [pytest.mark.kafka, pytest.mark.in_process]


def baseline_of(project: Project) -> Path:
    (found,) = (project.directory / ".anabranch" / "checkpoints").rglob("*.baseline.json")
    return found


def test_a_baseline_of_a_newer_version_keeps_its_guards_and_is_not_overwritten(project: Project, topic: str) -> None:
    project.ok("produce", topic, text='{"visit_id": 1, "event_time": "2025-09-04T07:00:00"}\n')
    project.ok("run", "visits-log", "--until-caught-up")
    file = baseline_of(project)
    known = json.loads(file.read_text(encoding="utf-8"))
    for changed, code, exit_code in (
        ({**known, "encryption": "aes"}, "format-newer", 3),
        ({**known, "format": 4}, "format-newer", 3),
        ({name: value for name, value in known.items() if name != "topics"}, "file-damaged", 1),
        ({**known, "shuffle_partitions": "7"}, "checkpoint-differs", 3),
    ):
        file.write_text(json.dumps(changed), encoding="utf-8")
        done = project("run", "visits-log", "--until-caught-up")
        assert (done.returncode, f"[{code}]" in done.stderr) == (exit_code, True), done.stderr
        assert json.loads(file.read_text(encoding="utf-8")) == changed
        # Looking is refused as little as possible: status shows what it knows, and what a run would be refused with.
        looked = project("status")
        assert "visits-log" in looked.stdout
        if code != "checkpoint-differs":
            assert (looked.returncode, f"[{code}]" in looked.stdout) == (4, True), looked.stdout
