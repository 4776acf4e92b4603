"""A repair beside a running stream: neither stops the other, nor touches its results."""

from __future__ import annotations

import json

import pytest

from anabranch.kafka.records import latest_by_key
from tests.repair.repairs import FIREFOX, NAME, RUN, Repairs
from tests.support.audits import DAY

pytestmark = [pytest.mark.kafka, pytest.mark.in_process]


def test_a_stream_in_update_mode_goes_on_emitting_other_windows(repairs: Repairs) -> None:
    running = repairs.project.start(*RUN)
    repairs.produce(["10:31"], "before")
    repairs.await_result("10:30", "before")
    repairs.produce(["06:03"], "Firefox", partition=1)
    repairs.produce(["10:32"], "behind the late one", partition=1)
    repairs.await_result("10:30", "behind the late one")
    before = repairs.results()
    begin, end = f"{DAY}T06:00", f"{DAY}T06:05"
    said = json.loads(repairs.project.ok("repair", NAME, "--from", begin, "--to", end, "--yes", "--json"))
    assert (said["sent"], said["after"]["verdict"]["wrong"]) == (1, 0)
    repairs.produce(["10:33"], "after")
    repairs.await_result("10:30", "after")
    by_origin = {(one.header("anabranch-origin"), one.key_text[:40]) for one in repairs.came(before)}
    assert by_origin == {("repair", FIREFOX[6][:40]), ("stream", FIREFOX[1].replace("T01:00", "T10:30")[:40])}
    assert json.loads(latest_by_key(repairs.results())[FIREFOX[6]].value or b"")["count"] == 3
    assert running.process.poll() is None
    repairs.project.ok("stop", "visits-lake", NAME)
    assert running.await_end() == 0
