"""A topic of results that others write to as well, or that has got more partitions: what an audit takes for the results."""

from __future__ import annotations

import json

import pytest

from anabranch.kafka.admin import KafkaAdmin
from anabranch.kafka.records import read_records
from anabranch.streaming.result_headers import stream_headers
from tests.support.audits import DAY, audit, classes, key_of, send_results, short, visits
from tests.support.harness import Project
from tests.support.kafka_fixtures import grow

pytestmark = [pytest.mark.kafka, pytest.mark.in_process]

STARTS = [f"0{hour}:00" for hour in range(1, 8)]
RUN = ("run", "visits-lake", "visits-counter", "--until-caught-up")


@pytest.fixture
def results(project: Project, kafka: dict[str, str], topic: str) -> str:
    """The topic of results, of one partition: of seven windows, each with a visit."""
    name = f"{topic}-counts"
    KafkaAdmin(kafka).create(name, 1)
    lake = f'[pipeline.visits-lake]\ntopics = {{ source = "{topic}" }}\n'
    counter = f'[pipeline.visits-counter]\ntopics = {{ source = "{topic}", sink = "{name}" }}\n'
    project.configure(f'[kafka]\nbootstrap_servers = "{kafka["bootstrap.servers"]}"\n{lake}{counter}')
    project.ok("produce", topic, "--partition", "0", text=visits([*STARTS, "09:00"]))
    project.ok(*RUN)
    return name


def test_results_of_another_pipeline_are_not_this_ones_unless_they_have_its_keys(
    project: Project, kafka: dict[str, str], results: str
) -> None:
    others = stream_headers("visits-by-region", 1)
    send_results(kafka, results, {key_of("01:00", region="north"): '{"count":4}', key_of("05:10"): '{"count":4}'}, others)
    found = audit(project, "visits-counter", "--all")
    assert classes(found) == dict.fromkeys(STARTS, "equal")
    assert (
        json.loads(project.ok("reprocess", "visits-counter", *_range("05:10", "05:20"), "--dry-run", "--json"))["results"] == 0
    )

    # Readers of the topic see what holds the pipeline's own key.
    send_results(kafka, results, {key_of("02:00"): '{"count":4}'}, others)
    assert classes(audit(project, "visits-counter")) == {"02:00": "different"}


def test_where_partitions_were_added_the_result_with_the_newest_time_counts_and_it_is_said(
    project: Project, kafka: dict[str, str], topic: str, results: str
) -> None:
    grow(kafka, results, 8)
    found = audit(project, "visits-counter")
    assert (classes(found), found["notes"]) == ({}, [])

    # Late ones in each window: what corrects them is behind offset 6 of no partition.
    project.ok("produce", topic, "--partition", "1", text=visits(STARTS))
    project.ok(*RUN)
    assert classes(audit(project, "visits-counter")) == dict.fromkeys(STARTS, "late")
    project.ok("repair", "visits-counter", "--yes")
    partitions: dict[str, set[int]] = {}
    for record in read_records(KafkaAdmin(kafka), results):
        partitions.setdefault(short(record.key_text), set()).add(record.partition)
    moved = sum(len(ones) > 1 for ones in partitions.values())
    assert moved > 1
    found = audit(project, "visits-counter", "--all")
    assert classes(found) == dict.fromkeys(STARTS, "corrected")
    (note,) = found["notes"]
    assert (note["code"], note["params"]) == ("results-in-several-partitions", {"results": moved, "topic": results})
    # Collapsed to one row of each window it counts the same.
    assert audit(project, "visits-counter")["notes"] == [note]


def _range(start: str, end: str) -> tuple[str, ...]:
    return ("--from", f"{DAY}T{start}Z", "--to", f"{DAY}T{end}Z")
