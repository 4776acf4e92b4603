"""The audits that are kept: listed with the newest first, no more than are asked for, also beside one that cannot be read."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from anabranch.audit.store import AUDIT, all_audits
from anabranch.project.project import open_project
from tests.golden.audit_sample import AUDIT_SAMPLE
from tests.support.desk import Desk

IDS = [f"2025090{day}T070000-audit-000{day}" for day in range(1, 6)]


@pytest.fixture
def kept(desk: Desk) -> Desk:
    """By turns of two pipelines."""
    for number, audit_id in enumerate(IDS):
        pipeline = ("visits-counter", "browsers-stateful")[number % 2]
        directory = desk.project / ".anabranch" / "audits" / pipeline / "topic-results" / audit_id
        directory.mkdir(parents=True)
        AUDIT.write(directory / "audit.json", replace(AUDIT_SAMPLE, id=audit_id, pipeline=pipeline))
    return desk


def _listed(kept: Desk, *options: str) -> list[str]:
    code, _ = kept("audits", *options, "--json")
    assert code == 0
    return [one["id"] for one in json.loads(kept.out)]


def test_the_newest_of_all_pipelines_are_first(kept: Desk) -> None:
    assert _listed(kept) == IDS[::-1]
    code, said = kept("audits", "--limit", "2")
    assert (code, [line.split()[0] for line in kept.out.splitlines()]) == (0, ["audit", IDS[4], IDS[3]])
    assert "There are more: --limit 20 lists more of them." in said
    assert "There are more" not in kept("audits", "--limit", "5")[1]
    assert kept("audits", "--limit", "0")[0] == 2


def test_no_more_are_read_than_are_listed(kept: Desk) -> None:
    audits = all_audits(open_project(kept.project), lambda reason: pytest.fail(reason.text))
    assert next(audits).id == IDS[4]
    for file in kept.project.rglob("audit.json"):
        if file.parent.name in IDS[:2]:
            file.write_text("torn")
    # To tell which is the newest, one of each pipeline is read ahead.
    assert next(audits).id == IDS[3]


def test_one_that_cannot_be_read_is_said_and_the_others_are_listed(kept: Desk) -> None:
    (file,) = (file for file in kept.project.rglob("audit.json") if file.parent.name == IDS[4])
    newer = {**json.loads(file.read_text()), "format": 99}
    for content, why in (("torn", "is damaged"), (json.dumps(newer), "written by a newer Anabranch")):
        file.write_text(content)
        code, said = kept("audits")
        assert (code, f"audit {IDS[4]} cannot be read:" in said, why in said) == (0, True, True), said
        assert [line.split()[0] for line in kept.out.splitlines()] == ["audit", *IDS[3::-1]]


def test_where_there_are_none_it_is_said_how_one_is_made(desk: Desk) -> None:
    assert "anabranch audit PIPELINE makes one" in desk("audits")[1]
    assert _listed(desk) == []
