"""`anabranch lateness` beside real runs: what it says today's delay dropped is what the stream dropped, by every account."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from anabranch.kafka.admin import KafkaAdmin
from anabranch.kafka.records import latest_by_key, read_records
from anabranch.spark.session import Session
from tests.support.harness import Project

pytestmark = [pytest.mark.kafka, pytest.mark.in_process]

# Minutes after 07:00 by batch: each batch takes the four next visits of the one partition that has any.
# visits-counter has windows of 10 minutes and a delay of 10 minutes.
A_BATCH = 4
VISITS = (
    *(1, 12, 24, 30),
    *(8, 31, 35, 40),
    # 07:30 was reached two batches before: the first needs more than 20 minutes, then more than 10, more than none, and none.
    *(5, 15, 25, 50),
    # 07:40 was reached: more than 30, 20, 10, and none.
    *(9, 19, 29, 41),
    # 07:50 was reached: more than 40, and none three times.
    *(2, 51, 52, 53),
)
# Needs: 20, 10, 0 in batch 2; 30, 20, 10 in batch 3; 40 in batch 4, where 07:51 and later need none.
# Delay in seconds -> records late and windows wrong, by hand: a record is late with a delay of no more than it needed.
LATE = {0: (7, 3), 2: (6, 3), 30: (6, 3), 300: (6, 3), 600: (6, 3), 1800: (2, 1), 2401: (0, 0)}


@pytest.fixture(scope="module")
def project(
    session: Session, kafka: dict[str, str], source: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Project]:
    project = Project(tmp_path_factory.mktemp("lateness"), session)
    project.configure(
        f"""
        [kafka]
        bootstrap_servers = "{kafka["bootstrap.servers"]}"
        [pipeline.visits-lake]
        topics = {{ source = "{source}" }}
        [pipeline.visits-counter]
        topics = {{ source = "{source}", sink = "{source}-counts" }}
        max_offsets = {A_BATCH}
        """
    )
    visits = [json.dumps({"visit_id": n, "event_time": f"2025-09-04T07:{m:02}:00Z"}) for n, m in enumerate(VISITS)]
    project.ok("produce", source, "--partition", "0", text="\n".join(visits))
    project.ok("run", "visits-lake", "visits-counter", "--until-caught-up")
    yield project
    project.end()


def _json(project: Project, *command: str) -> dict[str, Any]:
    return dict(json.loads(project.ok(*command, "--json")))


def test_the_table_is_the_one_that_was_reckoned_by_hand(project: Project) -> None:
    found = _json(project, "lateness", "visits-counter")
    assert (found["basis"], found["records"], found["windows"], found["left_out"], found["behind"]) == ("events", 20, 6, 0, 0)
    assert {row["delay_s"]: (row["late"], row["windows_wrong"]) for row in found["delays"]} == LATE
    (every,) = (row for row in found["delays"] if "all" in row["marks"])
    assert (every["delay_s"], every["late"], every["later_s"]) == (40 * 60 + 1, 0, 30 * 60 + 1)


def test_what_todays_delay_dropped_is_what_the_stream_dropped(project: Project, source: str, kafka: dict[str, str]) -> None:
    found = _json(project, "lateness", "visits-counter")
    (today,) = (row for row in found["delays"] if "today" in row["marks"])
    assert (today["late"], found["dropped"]) == (6, 6)
    assert _json(project, "history", "visits-counter")["totals"]["late"] == 6
    # And by the results: those of closed windows lack what was dropped.
    results = latest_by_key(read_records(KafkaAdmin(kafka), f"{source}-counts"))
    counted = {json.loads(key)["window_start"][11:16]: json.loads(one.value or b"")["count"] for key, one in results.items()}
    assert counted == {"07:00": 2, "07:10": 1, "07:20": 1 + 1, "07:30": 3}


def test_its_picture_is_drawn_beside_the_running_project(project: Project) -> None:
    project.ok("lateness", "visits-counter", "--svg", "lateness.svg")
    assert "prefers-color-scheme" in (project.directory / "lateness.svg").read_text(encoding="utf-8")
