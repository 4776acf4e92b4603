"""The ledger: whole lines, appended, never written over a file that is something else."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from anabranch.errors import Failed, Misused
from anabranch.generator.ledger import Ledger, LedgerEntry, read_ledger
from tests.generator.samples import MIXED, facts, make


def test_a_ledger_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "new" / "ledger.jsonl"
    records = make(MIXED, 300)
    with Ledger(path) as ledger:
        for offset, made in enumerate(records):
            ledger.add("visits", offset % 2, offset, 1_700_000_000_000 + offset, made)
    assert list(read_ledger(path)) == [
        LedgerEntry("visits", n % 2, n, 1_700_000_000_000 + n, made.kind, facts(made)) for n, made in enumerate(records)
    ]


def test_the_lines_of_visits_are_the_same_in_every_version(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    with Ledger(path) as ledger:
        for offset, made in enumerate(make(MIXED, 1000)):
            ledger.add("visits", offset % 2, offset, 1_700_000_000_000 + offset, made)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert digest == "5a0fc518851f299087e0a0482aef571547305cb8600421e2175d2f935889176f"


def test_a_partial_line_of_any_length_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    (first,) = make(MIXED, 1)
    with Ledger(path) as ledger:
        ledger.add("visits", 0, 0, 1, first)
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"topic":"' + b"x" * 200_000)
    Ledger(path).close()
    assert path.read_bytes() == whole


def test_a_second_run_appends_to_a_ledger_and_cuts_off_the_partial_line_of_a_killed_run(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    first, second = make(MIXED, 2)
    with Ledger(path) as ledger:
        ledger.add("visits", 0, 0, 1, first)
    with path.open("a") as file:
        file.write('{"topic":"visits","partiti')
    assert [entry.offset for entry in read_ledger(path)] == [0]
    with Ledger(path) as ledger:
        ledger.add("visits", 0, 1, 2, second)
    assert [entry.offset for entry in read_ledger(path)] == [0, 1]


def test_a_file_that_is_not_a_ledger_is_rejected_and_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("dear diary")
    with pytest.raises(Misused) as error:
        Ledger(path)
    assert error.value.code == "ledger-foreign-file"
    assert path.read_text() == "dear diary"


def test_a_ledger_that_cannot_be_opened_is_an_error_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(Failed) as error:
        Ledger(tmp_path)
    assert (error.value.code, error.value.reason.params["path"]) == ("ledger-not-writable", str(tmp_path))
