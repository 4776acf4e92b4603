"""status and history of a pipeline that ran on the real broker, with late records, and with some unread."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.harness import Project

pytestmark = pytest.mark.kafka


@pytest.fixture
def project(make_project: Callable[[str], Project], kafka: dict[str, str], topic: str) -> Project:
    project = make_project("project")
    source = f'[pipeline.visits-counter]\ntopics = {{ source = "{topic}", sink = "{topic}-results" }}\n'
    project.configure(f'[kafka]\nbootstrap_servers = "{kafka["bootstrap.servers"]}"\n{source}')
    return project


def produce(project: Project, topic: str, *times: str) -> None:
    lines = "".join(f'{{"visit_id": 1, "event_time": "2025-09-04T{time}:00Z"}}\n' for time in times)
    project.ok("produce", topic, "--partition", "0", text=lines)


def status(project: Project) -> dict[str, Any]:
    (one,) = json.loads(project.ok("status", "--json"))["pipelines"]
    return dict(one)


def test_a_run_with_late_records_is_shown_by_status_and_history_and_unread_ones_by_how_long_they_wait(
    project: Project, topic: str
) -> None:
    # One record in a batch: 09:00 takes the watermark past the window of 07:00. The batch behind it still runs by the
    # watermark before, so 07:05 is counted and two records are late.
    produce(project, topic, "07:00", "09:00", "07:05", "07:06", "07:07")
    project.ok("run", "visits-counter", "--until-caught-up", "--max-offsets", "1")
    one = status(project)
    assert (one["state"], one["records"], one["problems"], one["uncounted_batches"]) == ("stopped", 5, 0, 0)
    assert (sum(one["lag"][topic].values()), one["lag_s"], one["refusals"], one["notes"]) == (0, 0.0, [], [])
    assert one["age_s"] > 0
    assert one["rows_per_s"] is not None

    found = json.loads(project.ok("history", "visits-counter", "--json"))
    batches = [line["batch"] for line in found["lines"]]
    assert (batches, batches[-1]) == (list(range(len(batches))), one["last_batch"])
    assert (found["totals"]["records"], found["totals"]["late"]) == (5, one["late"])
    assert all(line["duration_ms"] > 0 for line in found["lines"])
    assert (one["late"], one["exact"], one["late_from"]) == (2, True, 0)

    produce(project, topic, "09:01", "09:02")
    first, second = status(project), status(project)
    assert list(first["lag"].values()) == [{"0": 2, "1": 0}]
    assert 0 < first["lag_s"] < second["lag_s"]
    table = project.ok("status").splitlines()
    assert "2 (" in table[1]
    assert max(map(len, table)) <= 100
