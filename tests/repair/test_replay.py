"""`problems replay`: records whose problem the rules of today no longer know are counted by a repair of their windows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from uuid import uuid4

import pytest

from anabranch.kafka.admin import KafkaAdmin
from anabranch.kafka.records import latest_by_key, read_records
from anabranch.spark.session import Session
from tests.support.audits import DAY, classes
from tests.support.harness import Project

pytestmark = [pytest.mark.kafka, pytest.mark.in_process]

TAG = uuid4().hex[:8]
TOO_LARGE = 3_000_000_000
# By offset. The third is the only one of its window, and so is the fourth, which was to be left out.
PAYMENTS = (
    *((1, f"{DAY}T07:01:00Z"), (TOO_LARGE, f"{DAY}T07:02:00Z"), (TOO_LARGE, f"{DAY}T07:11:00Z"), (2, f"{DAY}T07:21:00Z")),
    *((3, "2080-01-01T00:00:00Z"), (4, f"{DAY}T08:00:00Z"), ("four", f"{DAY}T07:03:00Z")),
)
REPLAY = ("problems", "replay", "counts")


class Payments:
    def __init__(self, project: Project, kafka: Mapping[str, str]) -> None:
        self.project, self.kafka = project, kafka

    def rules(self, ids: str, settings: str) -> None:
        address, own = self.kafka["bootstrap.servers"], (Path(__file__).parent / "own_streams.py").read_text(encoding="utf-8")
        pipelines = "".join(f"[pipeline.{name}]\n{settings}\n" for name in ("counts", f"payments-{TAG}-lake"))
        # This process imports a file of one name once.
        file = f"streams_{TAG}_{ids}.py"
        self.project.configure(f'pipelines = ["{file}"]\n[kafka]\nbootstrap_servers = "{address}"\n{pipelines}')
        own = own.replace('"TAG"', f'"{TAG}"').replace("id INT", f"id {ids}")
        (self.project.directory / file).write_text(own, encoding="utf-8")

    def results(self) -> dict[str, int]:
        found = latest_by_key(read_records(KafkaAdmin(self.kafka), f"counts-{TAG}"))
        return {key[28:33]: json.loads(one.value or b"")["count"] for key, one in found.items()}


@pytest.fixture(scope="module")
def payments(
    session: Session, kafka: dict[str, str], topics: KafkaAdmin, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Payments]:
    payments = Payments(Project(tmp_path_factory.mktemp("replay"), session), kafka)
    payments.rules("INT", f'skip = ["payments-{TAG}:0:3"]')
    topics.create(f"payments-{TAG}", 1)
    lines = (json.dumps({"id": number, "paid_at": time}) for number, time in PAYMENTS)
    payments.project.ok("produce", f"payments-{TAG}", text="\n".join(lines))
    payments.project.ok("run", f"payments-{TAG}-lake", "counts", "--until-caught-up")
    yield payments
    payments.project.end()


def test_records_without_a_problem_any_more_are_counted_by_a_repair(payments: Payments) -> None:
    nothing = payments.project(*REPLAY, "--yes", "--json")
    assert (nothing.returncode, _notes(nothing.stdout)) == (0, [("nothing-to-replay", None)])

    payments.rules("BIGINT", 'future_tolerance = "30000d"')
    dry = payments.project(*REPLAY, "--dry-run", "--json")
    assert (dry.returncode, _notes(dry.stdout)) == (0, [("replayed", 3), ("replay-later", 1)])
    said = json.loads(dry.stdout)
    assert classes(said["audit"]) == {"07:00": "different", "07:10": "missing", "07:20": "missing"}
    assert (said["plan"]["results"], said["sent"], payments.results()) == (3, None, {"07:00": 1})

    done = payments.project(*REPLAY, "--yes")
    assert (done.returncode, payments.results()) == (0, {"07:00": 2, "07:10": 1, "07:20": 1})
    assert "3 records that had a problem are usable now, in 3 closed windows of counts." in done.stderr
    assert "1 record more is in windows that are open: replay again once they are closed, after 2080-01-01T" in done.stderr
    assert done.stdout.splitlines()[-1].startswith("Clean: all 3 windows are right (3 results by correction)")

    again = payments.project(*REPLAY, "--yes")
    assert (again.returncode, "Nothing to repair." in again.stderr) == (0, True)


def test_results_in_a_table_are_not_repaired(payments: Payments) -> None:
    name = "counts-in-a-table"
    for command in (("repair", name, "--yes"), ("audit", name, "--repair", "late"), ("problems", "replay", name, "--yes")):
        refused = payments.project(*command)
        assert (refused.returncode, "refused[table-not-repaired]" in refused.stderr) == (3, True), refused.stderr
    assert not (payments.project.directory / ".anabranch" / "audits" / name).exists()


def _notes(said: str) -> list[tuple[str, int | None]]:
    return [(one["code"], one["params"].get("count")) for one in json.loads(said)["notes"]]
