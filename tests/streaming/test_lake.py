"""The lake as a user sees it, problems and all; and results that are sent to a table."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from deltalake import DeltaTable

from tests.support.harness import Project

pytestmark = [pytest.mark.kafka, pytest.mark.in_process]

GOOD = ("2025-09-04T07:00:00Z", "2025-09-04T07:01:00Z")
FUTURE = "2036-01-01T00:00:00Z"
HOSTILE = b"\x1b[2J\xff not json"


@pytest.fixture
def project(make_project: Callable[[str], Project], kafka: dict[str, str], topic: str) -> Project:
    """Six records, one of each kind, in this order."""
    project = make_project("project")
    sources = "".join(f'[pipeline.{name}]\ntopics = {{ source = "{topic}" }}\n' for name in ("visits-lake", "visits-counter"))
    project.configure(f'[kafka]\nbootstrap_servers = "{kafka["bootstrap.servers"]}"\n{sources}')
    times = [json.dumps({"visit_id": 1, "event_time": time}).encode() for time in (*GOOD, FUTURE)]
    project.ok("produce", topic, "--partition", "0", text=b"\n".join([*times, b"{}", b'{"visit_id": 2}', HOSTILE]))
    return project


def test_the_lake_and_its_problems_are_shown_and_small_files_are_compacted(project: Project, topic: str) -> None:
    missing = project("lake")
    assert (missing.returncode, "error[no-lake]" in missing.stderr) == (1, True)
    project.ok("run", "visits-lake", "--until-caught-up", "--max-offsets", "1")

    state = json.loads(project.ok("lake", "--json"))
    assert (state["rows"], state["offsets"], state["newest_event"]) == (6, {topic: {"0": [0, 6]}}, "2025-09-04T07:01:00Z")
    assert f"offsets        {topic} 0: 0..6" in project.ok("lake")

    found = json.loads(project.ok("problems", "--json"))
    counts = found["counts"]
    assert (counts["no event_time"], counts["event_time in the future"], sum(counts.values())) == (2, 1, 4)
    assert sorted(record["offset"] for record in found["records"]) == [2, 3, 4, 5]
    (one,) = json.loads(project.ok("problems", "--reason", "no event_time", "--limit", "1", "--json"))["records"]
    assert one["reason"] == "no event_time"
    shown = project.ok("problems")
    assert "\\x1b[2J\\xff not json" in shown
    assert "\x1b" not in shown
    none = project("problems", "--reason", "nothing")
    assert (none.returncode, none.stdout, "'nothing'" in none.stderr) == (0, "", True)

    before = DeltaTable(state["path"]).to_pyarrow_table().sort_by("offset")
    project.ok("lake", "optimize")
    after = json.loads(project.ok("lake", "--json"))
    assert (after["files"] < state["files"], after["version"]) == (True, state["version"] + 1)
    assert DeltaTable(state["path"]).to_pyarrow_table().sort_by("offset") == before


def test_results_are_sent_to_a_table_and_events_of_the_future_pass_where_that_is_asked_for(project: Project) -> None:
    rejected = project("run", "visits-sessions", "--to", "table:counts")
    assert (rejected.returncode, "usage[sink-appends-only]" in rejected.stderr) == (2, True)
    # With the event of 2036 let in, the watermark passes all windows before it: they are closed.
    project.ok("run", "visits-counter", "--to", "table:counts", "--until-caught-up", "--future-tolerance", "5000d")
    rows = DeltaTable(project.directory / "counts").to_pyarrow_table().to_pylist()
    assert [(row["window"]["start"].isoformat(), row["count"]) for row in rows] == [("2025-09-04T07:00:00+00:00", 2)]
    status = {(one["name"], one["sink"]): one for one in json.loads(project.ok("status", "--all", "--json"))["pipelines"]}
    assert status["visits-counter", "table-counts"]["records"] == 6
    assert status["visits-counter", "topic-visits_counter"]["last_batch"] is None
