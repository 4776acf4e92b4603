"""Operations whose files cannot be understood: listed with their path, and in nobody's way."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.desk import FOREIGN, Desk
from tests.support.drawing import draw, write_tree


@pytest.fixture
def desk(desk: Desk) -> Desk:
    """With two rewinds, one after the other."""
    write_tree(draw(), desk.checkpoint)
    assert desk.rewind("--to-batch", "6", *FOREIGN, "--yes")[0] == 0
    assert desk.rewind("--to-batch", "3", *FOREIGN, "--yes")[0] == 0
    return desk


def _log(desk: Desk) -> Path:
    return desk.project / ".anabranch" / "operations"


def _by_batch(desk: Desk, batch: int) -> str:
    """The id of the rewind to a batch."""
    plans = {path.parent.name: json.loads(path.read_text(encoding="utf-8")) for path in _log(desk).glob("*/plan.json")}
    return next(name for name, plan in plans.items() if plan["batch"] == batch)


def _as_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _change_json(path: Path, change: Callable[[dict[str, object]], object]) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    path.write_text(json.dumps(content), encoding="utf-8")


SPOILS: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "torn": ("plan.json", lambda path: path.write_text('{"format": 1, "ki', encoding="utf-8"), "file-damaged"),
    "empty": ("plan.json", lambda path: path.write_text("", encoding="utf-8"), "file-damaged"),
    "a directory": ("plan.json", _as_directory, "file-damaged"),
    "of an unknown kind": (
        "plan.json",
        lambda path: _change_json(path, lambda plan: plan.update(kind="audit")),
        "format-newer",
    ),
    "without a field": ("plan.json", lambda path: _change_json(path, lambda plan: plan.pop("mode")), "file-damaged"),
    "with another field": ("plan.json", lambda path: _change_json(path, lambda plan: plan.update(more=1)), "format-newer"),
    "receipt torn": ("receipt.json", lambda path: path.write_text("{", encoding="utf-8"), "file-damaged"),
    "receipt a directory": ("receipt.json", _as_directory, "file-damaged"),
}


@pytest.mark.parametrize("how", list(SPOILS))
def test_an_operation_that_cannot_be_read_is_listed_with_its_path_and_is_in_nobodys_way(desk: Desk, how: str) -> None:
    file, spoil, problem = SPOILS[how]
    first, later = _by_batch(desk, 6), _by_batch(desk, 3)
    path = _log(desk) / first / file
    spoil(path)

    code, said = desk("operations")
    rows = {line.split()[0]: line for line in desk.out.splitlines()}
    assert (code, rows[first].split()[-1], rows[later].split()[-1]) == (0, "unreadable", "done")
    assert f"{first}: {path} " in said
    desk("operations", "--json")
    listed = {one["id"]: one for one in json.loads(desk.out)}
    assert (listed[first]["state"], listed[first]["problem"]["code"]) == ("unreadable", problem)
    assert (listed[later]["state"], listed[later]["problem"]) == ("done", None)

    for command in (["operations", first], ["undo", first, "--yes"]):
        code, said = desk(*command)
        assert (code, f"[{problem}]" in said, str(path) in said) == (3 if problem == "format-newer" else 1, True, True), said
    # A receipt that can be read says that there is nothing to resume, whatever its plan is.
    assert desk("resume", first, "--yes")[0] != 0
    assert desk("status")[0] == 0
    assert desk("undo", later, "--yes")[0] == 0
    assert desk.rewind("--to-batch", "4", *FOREIGN, "--yes")[0] == 0


def test_strangers_among_the_operations_break_nothing(desk: Desk) -> None:
    first, later = _by_batch(desk, 6), _by_batch(desk, 3)
    (_log(desk) / ".DS_Store").write_bytes(b"\0\1")
    (_log(desk) / "notes").mkdir()
    (_log(desk) / "notes" / "readme.txt").write_text("why we rewound", encoding="utf-8")
    shutil.copytree(_log(desk) / later, _log(desk) / "copy-of-it")
    desk("operations", "--json")
    found = {one["id"]: (one["state"], (one["problem"] or {}).get("code")) for one in json.loads(desk.out)}
    assert found == {first: ("done", None), later: ("done", None), "copy-of-it": ("unreadable", "not-an-operation")}
    code, said = desk("undo", "copy-of-it", "--yes")
    assert (code, "[not-an-operation]" in said) == (2, True)
    assert desk("status")[0] == 0
    assert desk("undo", later, "--yes")[0] == 0
    assert desk("undo", first, "--yes")[0] == 0


def test_a_log_that_is_no_directory_is_named(desk: Desk) -> None:
    _log(desk).rename(_log(desk).with_name("kept"))
    _log(desk).write_text("", encoding="utf-8")
    code, said = desk("operations")
    assert (code, "[file-damaged]" in said, str(_log(desk)) in said) == (1, True, True)
