"""Pipelines of one's own are audited as ours: sums of decimals and floats, windows that slide, tables; and changed code."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from anabranch.kafka.admin import KafkaAdmin
from anabranch.kafka.records import latest_by_key, read_records
from anabranch.spark.session import Session
from tests.support.audits import DAY, audit, classes, key_of, refused, send_results, short
from tests.support.harness import Project
from tests.support.remedies import paste, remedies

pytestmark = [pytest.mark.kafka, pytest.mark.in_process]

PIPELINES = ("revenue", "sliding", "weights", "counts")
TAG = uuid4().hex[:8]
FILE = f"streams_{TAG}.py"
# Minutes after 07:00, in batches of six: the fifth batch drops by the watermark that the first three leave, 07:07.
ON_TIME, A_BATCH = range(24), 6
# Its window of 07:00 is closed then, the one that slides and ends at 07:10 is not. Behind it what closes all of them.
LATE, LAST = 3, 60
STARTS = ("07:00", "07:05", "07:10", "07:15", "07:20")
START = datetime.fromisoformat(f"{DAY}T07:00:00+00:00")
PAID_BEFORE = 5


def _orders(minutes: Iterable[int]) -> str:
    """Of customers a and b in turn."""
    return "\n".join(
        json.dumps(
            {
                "customer": "ab"[minute % 2],
                "amount": minute + 0.25,
                "weight": minute / 10,
                "placed_at": (START + timedelta(minutes=minute)).isoformat(),
                "paid_at": (START + timedelta(minutes=minute - PAID_BEFORE)).isoformat(),
            }
        )
        for minute in minutes
    )


@pytest.fixture(scope="module")
def project(
    session: Session, kafka: dict[str, str], topics: KafkaAdmin, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Project]:
    project = Project(tmp_path_factory.mktemp("own"), session)
    project.configure(f'pipelines = ["{FILE}"]\n[kafka]\nbootstrap_servers = "{kafka["bootstrap.servers"]}"\n')
    text = (Path(__file__).parent / "own_streams.py").read_text(encoding="utf-8")
    (project.directory / FILE).write_text(text.replace('"TAG"', f'"{TAG}"'), encoding="utf-8")
    topics.create(f"orders-{TAG}", 1)
    topics.find(f"orders-{TAG}")
    project.ok("produce", f"orders-{TAG}", text=_orders([*ON_TIME, LATE, LAST]))
    project.ok("run", f"orders-{TAG}-lake", *PIPELINES, "--until-caught-up", "--max-offsets", str(A_BATCH))
    yield project
    project.end()


def test_a_sum_of_decimals_lacks_what_was_late_to_the_cent(project: Project) -> None:
    found = audit(project, "revenue", "--all")
    assert classes(found) == {f"{start} {one}": "equal" for start in STARTS for one in "ab"} | {"07:00 b": "late"}
    (late,) = (one for one in found["windows"] if one["class"] == "late")
    # 1.25 + 3.25, and 3.25 again.
    assert [json.loads(late[name])["revenue"] for name in ("emitted", "should_be")] == [4.5, 7.75]
    assert found["balance"] == {"in_lake": 25, "counted": 24, "late": 1, "problems": 0, "remainder": 0}


def test_of_windows_that_slide_only_the_one_that_was_closed_lacks_a_late_record(project: Project) -> None:
    found = audit(project, "sliding", "--all")
    assert classes(found) == dict.fromkeys(STARTS, "equal") | {"06:55": "late"}
    (record,) = found["late"]["records"]
    assert (record["window_end"], record["watermark"]) == (f"{DAY}T07:05:00Z", f"{DAY}T07:07:00Z")
    # The window of 07:00 to 07:10 has counted it.
    assert {short(one["key"]): (one["in_lake"], one["counted"], one["late"]) for one in found["windows"][:2]} == {
        "06:55": (6, 5, 1),
        "07:00": (11, 11, 0),
    }
    assert found["balance"] == {"in_lake": 25, "counted": 24, "late": 1, "problems": 0, "remainder": 0}


def test_floats_that_differ_by_less_than_the_declared_tolerance_are_the_same(project: Project, kafka: dict[str, str]) -> None:
    topic = f"weights-{TAG}"
    held = {key: one.value_text for key, one in latest_by_key(read_records(KafkaAdmin(kafka), topic)).items()}
    values = {start: json.loads(held[key_of(start)]) for start in ("07:05", "07:10")}
    for start, factor in (("07:05", 1 + 1e-12), ("07:10", 1 + 1e-6)):
        values[start]["weight"] *= factor
    send_results(kafka, topic, {key_of(start): json.dumps(value) for start, value in values.items()})
    assert classes(audit(project, "weights")) == {"07:00": "late", "07:10": "different"}


def test_rows_of_a_table_that_were_deleted_changed_doubled_and_added_are_found(project: Project) -> None:
    path = project.directory / "out" / "counts"
    table = DeltaTable(path)
    rows = table.to_pyarrow_dataset().to_table()
    of = {_row_of(row): row for row in rows.to_pylist()}
    table.delete("customer = 'a' AND window.start = '2025-09-04T07:10:00Z'")
    table.delete("customer = 'b' AND window.start = '2025-09-04T07:15:00Z'")
    never = {name: moment - timedelta(hours=1) for name, moment in of["07:00 a"]["window"].items()}
    added = [{**of["07:15 b"], "count": 5}, of["07:05 a"], {**of["07:00 a"], "window": never}]
    write_deltalake(table, pa.Table.from_pylist(added, rows.schema), mode="append")

    found = project("audit", "counts", "--json")
    assert found.returncode == 4, found.stderr
    assert classes(json.loads(found.stdout)) == {
        "06:00 a": "unexpected",
        "07:00 b": "late",
        "07:05 a": "different",
        "07:10 a": "missing",
        "07:15 b": "different",
    }
    pinned = json.loads(found.stdout)["pinned"]
    assert (pinned["table_version"], pinned["topic_offsets"]) == (DeltaTable(path).version(), {})


def _row_of(row: dict[str, Any]) -> str:
    return f"{row['window']['start']:%H:%M} {row['customer']}"


def _edited(project: Project, directory: Path, old: str, new: str) -> Project:
    """A copy with another file, which is imported again as by a process of its own."""
    shutil.copytree(project.directory, directory)
    file = directory / FILE
    text = file.read_text(encoding="utf-8")
    assert text.count(old) == 1
    file.write_text(text.replace(old, new), encoding="utf-8")
    sys.modules.pop(file.stem)
    return Project(directory, project.session)


def test_results_of_other_code_are_different_with_a_note_of_the_batches_that_ran_with_it(
    project: Project, tmp_path: Path
) -> None:
    edited = _edited(project, tmp_path / "edited", 'F.sum("amount")', '(F.sum("amount") * 2)')
    found = audit(edited, "revenue")
    assert found["verdict"]["results"] == {"different": 10}
    (note,) = found["notes"]
    first, last = found["pinned"]["batches"]
    assert (note["code"], note["params"]) == ("ran-other-code", {"batches": last - first + 1})


def test_with_another_event_time_the_old_lake_is_refused_and_the_remedy_makes_a_new_one(
    project: Project, tmp_path: Path
) -> None:
    edited = _edited(project, tmp_path / "edited", 'event_time="placed_at"', 'event_time="paid_at"')
    code, said = refused(edited, "revenue")
    assert code == "lake-differs"
    (way,) = remedies(said)
    assert f'set table = "PATH" in [pipeline.orders-{TAG}-lake] of anabranch.toml, then' in way
    toml = edited.directory / "anabranch.toml"
    settings = toml.read_text(encoding="utf-8")
    toml.write_text(f'{settings}\n[pipeline.orders-{TAG}-lake]\ntable = "another"\n', encoding="utf-8")
    done = paste(edited, way.rpartition(", then ")[2].removesuffix(" writes a new lake"))
    assert done.returncode == 0, done.stderr
    # By the other time the windows are those of 06:55 to 07:15.
    found = audit(edited, "revenue")
    assert (found["balance"]["in_lake"], found["balance"]["remainder"]) == (25, 0)
    assert found["verdict"]["results"] == {"different": 8, "missing": 2, "unexpected": 2}
