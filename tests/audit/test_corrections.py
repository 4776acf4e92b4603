"""An audit between the batches and operations of a stream: no batch yet, a lake behind, a correction, a rewind."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.audits import DAY, audit, classes, short, visits
from tests.support.harness import Project
from tests.support.remedies import paste, remedies

pytestmark = [pytest.mark.kafka, pytest.mark.in_process]

BOTH = ("run", "visits-lake", "visits-counter", "--until-caught-up")


def _configure(project: Project, kafka: dict[str, str], topic: str) -> None:
    lake = f'[pipeline.visits-lake]\ntopics = {{ source = "{topic}" }}\n'
    counter = f'[pipeline.visits-counter]\ntopics = {{ source = "{topic}", sink = "{topic}-counts" }}\n'
    project.configure(f'[kafka]\nbootstrap_servers = "{kafka["bootstrap.servers"]}"\n{lake}{counter}')


def _send(project: Project, topic: str, *times: str) -> None:
    project.ok("produce", topic, "--partition", "0", text=visits(times))


def _counts(found: dict[str, Any]) -> dict[str, tuple[int | None, int | None]]:
    """Of each result that is listed the count that was emitted and the one that should be."""
    values = {short(one["key"]): (one["emitted"], one["should_be"]) for one in found["windows"]}
    return {start: tuple(None if one is None else json.loads(one)["count"] for one in both) for start, both in values.items()}  # type: ignore[misc]


def test_a_corrected_window_is_right_until_a_record_comes_that_the_correction_did_not_know(
    project: Project, kafka: dict[str, str], topic: str
) -> None:
    _configure(project, kafka, topic)
    # A stream without a record, and a lake that was never written; then one that is empty.
    project.ok("run", "visits-counter", "--until-caught-up")
    done = project("audit", "visits-counter", "--json")
    assert (done.returncode, json.loads(done.stdout)["error"]["code"]) == (1, "no-lake"), done.stderr
    (way,) = remedies(done.stderr)
    assert paste(project, way).returncode == 0
    done = project("audit", "visits-counter")
    assert (done.returncode, "Starting Spark" in done.stderr) == (0, False), done.stderr
    assert "Nothing was judged: no window of this range is closed and has a record." in done.stdout

    # The last visit is late, and corrected.
    _send(project, topic, "07:00", "07:33", "07:01", "07:11", "07:02")
    project.ok(*BOTH, "--max-offsets", "2")
    project.ok("reprocess", "visits-counter", "--from", f"{DAY}T07:00Z", "--to", f"{DAY}T07:10Z", "--yes")
    (operation,) = (one["id"] for one in json.loads(project.ok("operations", "--json")))
    found = audit(project, "visits-counter", "--all")
    assert classes(found) == {"07:00": "corrected", "07:10": "equal"}
    assert found["verdict"]["results"] == {"corrected": 1, "equal": 1}
    assert [one["operation"] for one in found["windows"]] == [operation, None]
    assert (found["late"]["count"], found["verdict"]["not_counted"]) == (1, 0)

    # Late again, by a record that the stream has yet to drop.
    _send(project, topic, "07:03")
    project.ok("run", "visits-lake", "--until-caught-up")
    found = audit(project, "visits-counter")
    assert (classes(found), _counts(found)) == ({"07:00": "late"}, {"07:00": (3, 4)})
    assert (found["windows"][0]["operation"], found["windows"][0]["late"]) == (operation, 2)
    assert (found["late"]["unread"], [one["was_read"] for one in found["late"]["records"]]) == (1, [True, False])
    assert found["verdict"]["not_counted"] == 1

    # The lake does not read on: judged is what it has.
    _send(project, topic, "08:00")
    project.ok("run", "visits-counter", "--until-caught-up")
    behind = audit(project, "visits-counter")
    (note,) = behind["notes"]
    assert (note["code"], note["params"]["batches"] > 0) == ("lake-is-behind", True)
    assert (behind["pinned"]["batches"], behind["windows"]) == (found["pinned"]["batches"], found["windows"])
    project.ok("run", "visits-lake", "--until-caught-up")
    found = audit(project, "visits-counter", "--all")
    assert (classes(found), found["notes"]) == ({"07:00": "late", "07:10": "equal", "07:30": "equal"}, [])
    assert (found["late"]["unread"], found["verdict"]["not_counted"]) == (0, 1)


def test_after_a_rewind_the_batches_count_as_they_ran_the_last_time(
    project: Project, kafka: dict[str, str], topic: str
) -> None:
    """In one batch none was late. In batches of two the last drops its records by the watermark that the first leaves."""
    _configure(project, kafka, topic)
    _send(project, topic, "07:00", "07:33", "07:01", "07:11", "07:02", "07:12")
    project.ok(*BOTH)
    project.ok("rewind", "visits-counter", "--to-batch", "0", "--replan", "--yes")
    project.ok("run", "visits-counter", "--until-caught-up", "--max-offsets", "2")
    found = audit(project, "visits-counter")
    assert (classes(found), _counts(found)) == ({"07:00": "late", "07:10": "late"}, {"07:00": (2, 3), "07:10": (1, 2)})
    assert ({one["batch"] for one in found["late"]["records"]}, found["late"]["count"]) == ({2}, 2)
