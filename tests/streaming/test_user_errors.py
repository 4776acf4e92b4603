"""A transformation that fails: its own query ends, with the user's line and one sentence; others in the same run go on."""

from __future__ import annotations

import json

import pytest

from anabranch.kafka.admin import KafkaAdmin
from anabranch.kafka.records import GroupProducer
from tests.support.harness import Project
from tests.support.kafka_fixtures import create_topic

pytestmark = pytest.mark.kafka

FILE = """\
import anabranch as ab
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType

visits = ab.topic(
    "{topic}",
    schema="event_time TIMESTAMP NOT NULL, visit_id STRING, user_id STRING, event_id STRING, page STRING, browser STRING",
    event_time="event_time",
)

@F.udf(IntegerType())
def length(page):
    if page == "p2":
        raise ValueError("p2 has no length")
    return len(page)

@ab.pipeline(visits, max_offsets=1, to=ab.console())
def raising(visits):
    return visits.select(length("page"))

@ab.pipeline(visits, max_offsets=1, to=ab.console())
def dividing(visits):
    number = F.substring("page", 2, 1).cast("int")
    return visits.select(1 / (number - 2))

@ab.pipeline(visits, to=ab.console())
def unbuilt(visits):
    return visits.select("pagee")

@ab.pipeline(visits, max_offsets=1, to=ab.console())
def healthy(visits):
    return visits.select("page")
"""


def test_a_query_that_fails_names_the_users_line_and_the_others_go_on(
    project: Project, kafka: dict[str, str], topics: KafkaAdmin
) -> None:
    topic = create_topic(topics, 1)
    project.configure(f'pipelines = ["mine.py"]\n[kafka]\nbootstrap_servers = "{kafka["bootstrap.servers"]}"')
    (project.directory / "mine.py").write_text(FILE.replace("{topic}", topic), encoding="utf-8")
    visits = [{"event_time": "2025-09-04T07:00:00Z", "page": f"p{number}"} for number in range(1, 5)]
    GroupProducer(kafka, topic).send([(None, json.dumps(visit).encode()) for visit in visits])
    done = project("run", "unbuilt", "raising", "dividing", "healthy", "--until-caught-up")
    assert done.returncode == 1
    said = done.stderr
    lines = FILE.splitlines()

    def line(text: str) -> int:
        return next(number for number, one in enumerate(lines, 1) if text in one)

    assert f"mine.py:{line('raise ValueError')}: ValueError: p2 has no length" in said
    assert f"mine.py:{line('1 / (number')}: DIVIDE_BY_ZERO: Division by zero" in said
    assert "error[transform-failed]: unbuilt failed at" in said
    assert f"mine.py:{line('pagee')}: UNRESOLVED_COLUMN.WITH_SUGGESTION: " in said
    assert "at org.apache" not in said
    assert "Traceback" not in said
    # The first batch of each was committed, and all of the one that is well.
    assert "p4" in done.stdout
    # The printed remedy, once the line is corrected.
    mended = FILE.replace("{topic}", topic).replace('page == "p2"', 'page == "never"')
    (project.directory / "mine.py").write_text(mended, encoding="utf-8")
    resumed = project("run", "raising", "--until-caught-up")
    assert resumed.returncode == 0, resumed.stderr
    assert "batch 1 was planned and not committed, it runs again" in resumed.stderr
