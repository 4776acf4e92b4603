"""Repair on the real broker: exactly what was found wrong is sent, as the stream sends it, and nothing else."""

from __future__ import annotations

import json
import os

import pytest

from tests.repair.repairs import FIREFOX, NAME, RUN, Repairs
from tests.support.audits import DAY, classes, key_of
from tests.support.remedies import paste, shell_command

pytestmark = [pytest.mark.kafka, pytest.mark.in_process]

NEVER = key_of("05:00", browser="Lynx")
ONE_AND_TWO = ("--from", f"{DAY}T01:00", "--to", f"{DAY}T03:00")


def test_exactly_what_is_wrong_is_sent_as_the_stream_sends_it(repairs: Repairs) -> None:
    repairs.produce(["01:03", "02:03", "02:03"], "Firefox", partition=1)
    repairs.project.ok(*RUN, "--until-caught-up")
    repairs.spoil(FIREFOX[3], value=None)
    repairs.spoil(FIREFOX[4], NEVER)
    before = repairs.results()
    partitions = {one.key_text: one.partition for one in before if one.header("anabranch-origin") == "stream"}

    dry = json.loads(repairs.project.ok("repair", NAME, "--dry-run", "--json"))
    assert (dry["plan"]["results"], dry["plan"]["windows"], dry["sent"], dry["after"]) == (3, 3, None, None)
    assert (repairs.came(before), repairs.operations()) == ([], set())

    done = repairs.project("repair", NAME, "--audit", repairs.newest_audit(), "--yes", "--json")
    said = json.loads(done.stdout)
    assert (done.returncode, "wrong result of class different is left alone" in done.stderr) == (4, True), done.stderr
    assert "result of windows that the lake has no record of is left alone" in done.stderr
    sent = repairs.came(before)
    counts = {one.key_text: json.loads(one.value or b"")["count"] for one in sent}
    assert (len(sent), counts) == (3, {FIREFOX[1]: 3, FIREFOX[2]: 4, FIREFOX[3]: 2})
    operation = said["plan"]["operation"]
    assert {one.key_text: one.partition for one in sent} == {key: partitions[key] for key in counts}
    for one in sent:
        headers = [one.header(f"anabranch-{name}") for name in ("pipeline", "origin", "operation", "batch")]
        assert headers == [NAME, "repair", operation, None]
    assert said["sent"] == 3
    assert classes(said["after"]) == {"04:00 Firefox": "different", "05:00 Lynx": "unexpected"}
    (listed,) = json.loads(repairs.project.ok("operations", "--json"))
    assert (listed["id"], listed["kind"], listed["state"]) == (operation, "repair", "done")


def test_what_is_different_is_sent_only_when_asked_and_the_verdict_is_the_last_line(repairs: Repairs) -> None:
    before = repairs.results()
    found = repairs.newest_audit()
    nothing = repairs.project("repair", NAME, "--audit", found, "--yes")
    assert (nothing.returncode, repairs.came(before)) == (4, [])
    assert nothing.stdout.splitlines()[-1] == "2 of 5 windows are wrong: 1 unexpected, 1 different"
    assert "Nothing to repair." in nothing.stderr.splitlines()
    done = repairs.project("repair", NAME, "--audit", found, "--only", "different", "--yes")
    assert (done.returncode, [one.key_text for one in repairs.came(before)]) == (4, [FIREFOX[4]])
    assert done.stdout.splitlines()[-1] == "1 of 2 windows is wrong: 1 unexpected"
    repairs.spoil(NEVER, value=None)
    before = repairs.results()
    again = repairs.project("repair", NAME, "--yes")
    assert (again.returncode, repairs.came(before)) == (0, [])
    assert again.stdout.splitlines()[-1].startswith("Clean: all 8 windows are right (4 results by correction)")
    assert "Nothing to repair." in again.stderr.splitlines()


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--only", "equal", "--yes"), "unknown-class"),
        (("--only", "unexpected", "--yes"), "unknown-class"),
        (("--only", "", "--yes"), "unknown-class"),
        (("--audit", "20250904T090000-audit-7a8b", "--from", f"{DAY}T01:00", "--yes"), "audit-and-range"),
        ((), "cannot-prompt"),
        (("--json",), "cannot-prompt"),
        (("--yes", "--dry-run"), "contradiction"),
    ],
)
def test_a_malformed_repair_is_a_usage_error(repairs: Repairs, options: tuple[str, ...], code: str) -> None:
    before = repairs.operations()
    repairs.refused(code, *options, exit_code=2)
    assert repairs.operations() == before


def test_an_unknown_audit_is_a_usage_error_that_names_the_one_that_was_meant(repairs: Repairs) -> None:
    known = repairs.newest_audit()
    said = repairs.refused("unknown-audit", "--audit", known[:-1], "--yes", exit_code=2)
    assert f"did you mean {known}?" in said
    assert known in paste(repairs.project, "anabranch audits").stdout
    # One of another pipeline is not known either.
    other = repairs.project("repair", "visits-counter", "--audit", known, "--yes")
    assert (other.returncode, "[unknown-audit]" in other.stderr) == (2, True)


def test_a_result_that_came_since_the_plan_is_not_overwritten(repairs: Repairs) -> None:
    repairs.spoil(FIREFOX[1], FIREFOX[2], value=None)
    found = repairs.audit(*ONE_AND_TWO)
    terminal, stdin = os.openpty()
    asked = repairs.project.start("repair", NAME, "--audit", found, stdin=stdin)
    os.close(stdin)
    asked.await_line(r"\[y/N\]:")
    # Meanwhile another operator repairs the same.
    first = repairs.project("repair", NAME, "--audit", found, "--yes")
    assert first.returncode == 0, first.stderr
    before = repairs.results()
    os.write(terminal, b"y\n")
    assert asked.await_end() == 3
    os.close(terminal)
    said = "\n".join(asked.err)
    assert ("refused[inputs-stale]" in said, "has a newer result, from " in said, repairs.came(before)) == (True, True, [])
    assert repairs.repair_as_told(said) == (0, True)
    # Of an old audit too.
    repairs.refused("inputs-stale", "--audit", found, "--yes")


def test_an_audit_whose_findings_are_damaged_is_refused_with_a_new_one(repairs: Repairs) -> None:
    repairs.spoil(FIREFOX[1], FIREFOX[2], value=None)
    found = repairs.audit(*ONE_AND_TWO)
    (file,) = repairs.project.directory.glob(f".anabranch/audits/{NAME}/*/{found}/found.jsonl.gz")
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    said = repairs.refused("found-damaged", "--audit", found, "--yes", exit_code=1)
    assert paste(repairs.project, shell_command(said, "anabranch audit")).returncode == 4
    repaired = repairs.newest_audit()
    file.unlink()
    repairs.refused("found-damaged", "--audit", found, "--yes", exit_code=1)
    (file.parent / "audit.json").write_text("{", encoding="utf-8")
    repairs.refused("file-damaged", "--audit", found, "--yes", exit_code=1)
    repairs.project.ok("repair", NAME, "--audit", repaired, "--yes")
