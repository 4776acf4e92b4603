"""`audit --since-last` says what a whole audit would: nothing that is wrong is forgotten between two of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pytest

from anabranch.spark.session import Session
from tests.support.audits import DAY, audit, classes, key_of, send_results, visits
from tests.support.harness import Project

pytestmark = [pytest.mark.kafka, pytest.mark.in_process]

PIPELINES = ("visits-lake", "visits-counter")
SINCE = ("visits-counter", "--since-last")


@dataclass
class Stream:
    """Three visits at the begin of each hour from 1 to 8. All windows are closed but the last; each test leaves all right."""

    project: Project
    source: str
    kafka: Mapping[str, str]
    hours: Iterator[str] = field(default_factory=lambda: (f"0{hour}" for hour in range(1, 9)))

    def run(self, *times: str, partition: int = 0, pipelines: tuple[str, ...] = PIPELINES) -> None:
        if times:
            self.project.ok("produce", self.source, "--partition", str(partition), text=visits(times))
        self.project.ok("run", *pipelines, "--until-caught-up")

    def spoil(self, start: str) -> None:
        send_results(self.kafka, f"{self.source}-counts", {key_of(start): '{"count":9}'})

    def repair(self, *options: str) -> None:
        self.project.ok("repair", "visits-counter", "--yes", *options)

    def configure(self, counter: str = "") -> None:
        self.project.configure(
            f"""
            [kafka]
            bootstrap_servers = "{self.kafka["bootstrap.servers"]}"
            [pipeline.visits-lake]
            topics = {{ source = "{self.source}" }}
            [pipeline.visits-counter]
            topics = {{ source = "{self.source}", sink = "{self.source}-counts" }}
            {counter}
            """
        )


@pytest.fixture(scope="module")
def stream(session: Session, kafka: dict[str, str], source: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stream]:
    stream = Stream(Project(tmp_path_factory.mktemp("since"), session), source, kafka)
    stream.configure()
    stream.run(*(f"0{hour}:{minute:02}" for hour in range(1, 9) for minute in (1, 2, 3)), "09:00")
    yield stream
    stream.project.end()


def test_nothing_new_is_clean_and_starts_no_spark(stream: Stream) -> None:
    # Without a last audit it is a whole one.
    assert audit(stream.project, *SINCE)["verdict"]["windows"] == 8
    for _ in range(2):
        done = stream.project("audit", *SINCE)
        assert (done.returncode, "Judging" in done.stderr) == (0, False), done.stderr
        assert "Clean: no window has closed or got records since " in done.stdout


def test_a_window_that_was_wrong_is_judged_until_it_is_right(stream: Stream) -> None:
    hour = next(stream.hours)
    stream.run(f"{hour}:05", partition=1)
    assert classes(audit(stream.project, *SINCE, "--all")) == {f"{hour}:00": "late"}
    stream.run("09:30")
    assert classes(audit(stream.project, *SINCE, "--all")) == {f"{hour}:00": "late", "09:00": "equal"}
    stream.repair()
    assert classes(audit(stream.project, *SINCE, "--all")) == {f"{hour}:00": "corrected"}
    assert classes(audit(stream.project, *SINCE, "--all")) == {}


def test_cron_repairs_what_is_late_and_ends_with_4_while_anything_else_is_wrong(stream: Stream) -> None:
    hour, other, cron = next(stream.hours), next(stream.hours), (*SINCE, "--repair", "late", "--json")
    stream.spoil(f"{other}:00")
    stream.run(f"{hour}:05", f"{other}:05", partition=1)
    done = stream.project("audit", *cron)
    said = json.loads(done.stdout)
    assert (done.returncode, said["sent"]) == (4, 1)
    assert classes(said["audit"]) == {f"{hour}:00": "late", f"{other}:00": "different"}
    # What was left alone is judged again, too.
    assert classes(said["after"]) == {f"{other}:00": "different"}
    # An hour later nothing is new, and the other window is still wrong.
    done = stream.project("audit", *cron)
    assert (done.returncode, json.loads(done.stdout)["plan"]) == (4, None)
    assert classes(json.loads(done.stdout)["audit"]) == {f"{other}:00": "different"}
    stream.project.ok("audit", *SINCE, "--repair", "late,different")


def test_what_an_audit_of_a_range_has_found_is_not_forgotten(stream: Stream) -> None:
    hour = next(stream.hours)
    stream.spoil(f"{hour}:00")
    # A result that was right is not looked at again: an audit of all finds it, or one of its range.
    assert classes(audit(stream.project, *SINCE)) == {}
    assert classes(audit(stream.project, "visits-counter", "--from", f"{DAY}T{hour}:00Z")) == {f"{hour}:00": "different"}
    assert classes(audit(stream.project, *SINCE)) == {f"{hour}:00": "different"}
    # Where what was found can no longer be read, all is judged again.
    newest = json.loads(stream.project.ok("audits", "--json"))[0]["id"]
    (file,) = stream.project.directory.glob(f".anabranch/audits/visits-counter/*/{newest}/found.jsonl.gz")
    file.write_bytes(file.read_bytes()[:20])
    said = json.loads(stream.project.ok("audit", *SINCE, "--repair", "different", "--json"))
    assert (classes(said["audit"]), said["audit"]["since"], said["sent"]) == ({f"{hour}:00": "different"}, None, 1)


def test_the_audit_behind_a_repair_is_not_taken_for_one_of_all(stream: Stream) -> None:
    hour, later = next(stream.hours), next(stream.hours)
    stream.run(f"{hour}:05", f"{later}:05", partition=1)
    stream.repair("--from", f"{DAY}T{later}:00Z", "--to", f"{DAY}T{later}:10Z")
    said = json.loads(stream.project.ok("audit", *SINCE, "--repair", "late", "--json"))
    assert (classes(said["audit"]), said["sent"]) == ({f"{hour}:00": "late"}, 1)


def test_after_a_rewind_all_is_judged_again(stream: Stream) -> None:
    stream.run("10:01", "10:35", "10:36", "10:02")
    assert classes(audit(stream.project, *SINCE, "--all"))["10:00"] == "equal"
    batches = json.loads(stream.project.ok("status", "--json"))["pipelines"]
    (batch,) = (one["last_batch"] for one in batches if one["name"] == "visits-counter")
    stream.project.ok("rewind", "visits-counter", "--to-batch", str(batch - 1), "--replan", "--yes")
    # One by one, the last visit of the first window comes too late.
    stream.configure("max_offsets = 1")
    stream.run(pipelines=("visits-counter",))
    found = audit(stream.project, *SINCE)
    assert (classes(found), found["since"]) == ({"10:00": "late"}, None)
    assert [reason["code"] for note in found["notes"] for reason in note["params"].get("why", ())] == ["rewound-since"]
    stream.repair()


def test_after_a_change_of_the_rules_all_is_judged_again(stream: Stream) -> None:
    assert classes(audit(stream.project, *SINCE)) == {}
    stream.configure(f'skip = ["{stream.source}:0:0"]')
    found = audit(stream.project, *SINCE)
    assert classes(found) == {"01:00": "different"}
    assert [reason["code"] for note in found["notes"] for reason in note["params"].get("why", ())] == ["other-code-since"]
    stream.configure()
    assert classes(audit(stream.project, *SINCE)) == {}
