"""A repair that is killed while it sends: resumed it has sent all, and nothing that is newer is overwritten."""

from __future__ import annotations

import json
import os
import signal

import pytest

from anabranch.kafka.records import latest_by_key
from tests.repair.repairs import NAME, RUN, Repairs
from tests.support.audits import DAY, key_of, visits

pytestmark = [pytest.mark.kafka, pytest.mark.crash, pytest.mark.in_process]

# So many results that sending them takes a while: 20 groups, each acknowledged before the next.
BROWSERS = 10_000
MANY = ("--from", f"{DAY}T09:10Z", "--to", f"{DAY}T09:15Z")


@pytest.fixture(scope="module")
def right(repairs: Repairs) -> dict[str, bytes | None]:
    """One result for each of many browsers, in a window that is closed."""
    many = (visits(["09:11"], f"browser {number}") for number in range(BROWSERS))
    lines = "\n".join([*many, visits(["09:50"])])
    repairs.project.ok("produce", repairs.source, "--partition", "0", text=lines)
    repairs.project.ok(*RUN, "--until-caught-up")
    found = _of_many(repairs)
    assert len(found) == BROWSERS
    return found


def test_a_repair_killed_while_it_sends_is_resumed_and_all_its_results_are_there(
    repairs: Repairs, right: dict[str, bytes | None]
) -> None:
    operation, sent = _killed(repairs)
    # Meanwhile a result of another window comes, which the plan does not depend on.
    repairs.spoil(key_of("09:15", browser="Firefox"), value=None)
    assert "none -> 1" in repairs.project.ok("resume", operation, "--dry-run")
    resumed = repairs.project("resume", operation, "--yes")
    assert (resumed.returncode, f"{BROWSERS:,} of {BROWSERS:,} results" in resumed.stderr) == (0, True), resumed.stderr
    assert _of_many(repairs) == right
    assert sent <= {one.key_text for one in repairs.results() if one.header("anabranch-operation") == operation}


def test_a_result_that_came_while_it_was_killed_is_not_overwritten(repairs: Repairs, right: dict[str, bytes | None]) -> None:
    operation, sent = _killed(repairs)
    newer = min(right.keys() - sent)
    repairs.spoil(newer)
    before = repairs.results()
    refused = repairs.project("resume", operation, "--yes")
    assert (refused.returncode, "refused[inputs-stale]" in refused.stderr) == (3, True)
    assert repairs.came(before) == []
    # The remedy sends what is still missing, and leaves alone what somebody else has sent.
    assert repairs.repair_as_told(refused.stderr)[0] == 4
    assert _of_many(repairs) == {**right, newer: b'{"count":9}'}
    assert len(repairs.came(before)) == BROWSERS - len(sent) - 1


def _of_many(repairs: Repairs) -> dict[str, bytes | None]:
    return {key: one.value for key, one in latest_by_key(repairs.results()).items() if "T09:10" in key}


def _killed(repairs: Repairs) -> tuple[str, set[str]]:
    """All results of the window are gone, and a repair of them was killed: its id, and the keys that it had sent."""
    repairs.spoil(*_of_many(repairs), value=None)
    before = repairs.results()
    sending = repairs.project.start("repair", NAME, "--audit", repairs.audit(*MANY), "--yes")
    sending.await_line(f"Sending results: [1-9][0-9]* of {BROWSERS}")
    os.killpg(sending.process.pid, signal.SIGKILL)
    sending.await_end()
    newest = json.loads(repairs.project.ok("operations", "--json"))[0]
    assert (newest["kind"], newest["state"], newest["plan"]["results"]) == ("repair", "not finished", BROWSERS)
    sent = {one.key_text for one in repairs.came(before)}
    assert 0 < len(sent) < BROWSERS
    return newest["id"], sent
