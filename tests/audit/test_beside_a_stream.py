"""An audit at pinned versions: what the stream, the lake and a rewind do meanwhile changes nothing, or it is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from time import monotonic, sleep

import pytest

from anabranch.audit.apply import make_audit
from anabranch.audit.look import Look, look_at
from anabranch.audit.scope import Wanted
from anabranch.audit.session import OBSERVING
from anabranch.errors import Refused
from anabranch.pipeline.builtin.catalog import VISITS_LAKE
from anabranch.pipeline.builtin.visits_counter import VISITS_COUNTER
from anabranch.project.project import Project as Opened
from anabranch.project.project import open_project
from anabranch.reprocess.apply import batch_job_settings
from anabranch.reprocess.inspect import read_by, stream_state
from anabranch.spark.beside import session_beside
from anabranch.spark.session import Session
from tests.support.audits import DAY, audit, classes, visits
from tests.support.harness import PATIENCE_S, Project

pytestmark = [pytest.mark.kafka, pytest.mark.in_process]

BOTH = ("run", "visits-lake", "visits-counter")
HOUR = [f"07:{minute:02}" for minute in range(60)]


@pytest.fixture(scope="module")
def project(
    session: Session, kafka: dict[str, str], source: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Project]:
    project = Project(tmp_path_factory.mktemp("beside"), session)
    lake = f'[pipeline.visits-lake]\ntopics = {{ source = "{source}" }}\n'
    counter = f'[pipeline.visits-counter]\ntopics = {{ source = "{source}", sink = "{source}-counts" }}\ntrigger = "0s"\n'
    project.configure(f'[kafka]\nbootstrap_servers = "{kafka["bootstrap.servers"]}"\n{lake}{counter}')
    yield project
    project.end()


@pytest.fixture(scope="module")
def opened(project: Project) -> Opened:
    return open_project(project.directory)


def _judged(opened: Opened, session: Session, look: Look) -> str:
    """As --json writes it."""
    spark = session_beside(session.spark, {**batch_job_settings(opened), **OBSERVING}, "UTC")
    return json.dumps(make_audit(opened, look, lambda: spark, lambda _: None).as_json())


def _await_watermark(opened: Opened, time: str, records: int) -> None:
    """Until nothing is left to do: the newest batch ran with this watermark, and the lake has all records."""
    counter, wanted_ms = opened.pipeline(VISITS_COUNTER), datetime.fromisoformat(f"{DAY}T{time}:00+00:00").timestamp() * 1000
    filling, deadline_s = opened.pipeline(VISITS_LAKE), monotonic() + PATIENCE_S
    while True:
        held = sum(end for _, end in read_by(opened, filling, counter.topic.name).values())
        if (stream_state(opened, counter).watermark_ms, held) == (wanted_ms, records):
            return
        assert monotonic() < deadline_s, "the stream has not come so far"
        sleep(0.05)


def test_the_same_pins_give_the_same_bytes_while_the_stream_goes_on_and_the_lake_is_compacted(
    project: Project, opened: Opened, session: Session, source: str
) -> None:
    stream = project.start(*BOTH)
    project.ok("produce", source, "--partition", "0", text=visits([*HOUR, "08:30"]))
    _await_watermark(opened, "08:20", 61)
    # Another one at once.
    beside = project.start("audit", "visits-counter", "--json")
    said = project.ok("audit", "visits-counter", "--json")
    assert beside.await_end() == 0
    assert "\n".join(beside.out) == said.rstrip("\n")

    look = look_at(opened, opened.pipeline(VISITS_COUNTER), Wanted())
    assert look.pinned.lake_version == json.loads(said)["pinned"]["lake_version"]
    project.ok("produce", source, "--partition", "1", text=visits(["07:03", "07:04"]))
    project.ok("produce", source, "--partition", "0", text=visits(["09:30"]))
    _await_watermark(opened, "09:20", 64)
    project.ok("lake", "optimize")
    assert _judged(opened, session, look) == json.dumps(json.loads(said))
    # A new one has new pins.
    found = audit(project, "visits-counter")
    assert (classes(found), found["late"]["count"]) == ({"07:00": "late"}, 2)
    assert found["pinned"]["lake_version"] > look.pinned.lake_version + 1
    project.ok("stop", "visits-lake", "visits-counter")
    stream.await_end()


def test_a_rewind_in_the_middle_is_refused_and_leaves_nothing_and_one_of_the_lake_changes_nothing(
    project: Project, opened: Opened, session: Session
) -> None:
    look = look_at(opened, opened.pipeline(VISITS_COUNTER), Wanted())
    kept = json.loads(project.ok("audits", "--json"))
    directory = opened.home / "audits" / "visits-counter"
    project.ok("rewind", "visits-counter", "--to-batch", "0", "--replan", "--yes")
    for _ in range(2):
        with pytest.raises(Refused) as refused:
            _judged(opened, session, look)
        assert refused.value.code == "batches-taken-back"
        assert json.loads(project.ok("audits", "--json")) == kept
        assert sum(1 for _ in directory.glob("*/*")) == len(kept)
        # Also when as many batches have run again, with other ranges.
        project.ok(*BOTH, "--until-caught-up", "--max-offsets", "30")
    found = audit(project, "visits-counter")
    look = look_at(opened, opened.pipeline(VISITS_COUNTER), Wanted())
    project.ok("rewind", "visits-lake", "--to-batch", "1", "--yes")
    assert json.loads(_judged(opened, session, look)) == found
