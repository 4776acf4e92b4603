"""The contract of a storage, kept by a directory and by its in-memory fake."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from anabranch.storage import local as renaming
from anabranch.storage.base import MoveConflict, Storage
from anabranch.storage.local import LocalStorage
from anabranch.storage.memory import MemoryStorage

Make = Callable[[dict[str, bytes]], Storage]


@pytest.fixture(params=["directory", "directory of a kernel that cannot rename exclusively", "memory"])
def make(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    if "cannot" in request.param:
        monkeypatch.setattr(renaming, "_RENAMEAT2", None)

    def in_directory(files: dict[str, bytes]) -> Storage:
        for path, content in files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_bytes(content)
        return LocalStorage(tmp_path)

    return MemoryStorage if request.param == "memory" else in_directory


FILES = {"metadata": b"id", "offsets/0": b"zero", "offsets/.0.crc": b"crc", "state/0/1/SSTs/7.sst": b"sst"}


def test_it_lists_every_directory_with_its_names_and_measures_state(make: Make) -> None:
    listing, unreadable = make(FILES).list()
    assert {directory: set(names) for directory, names in listing.items()} == {
        "": {"metadata"}, "offsets": {"0", ".0.crc"},
        "state": set(), "state/0": set(), "state/0/1": set(), "state/0/1/SSTs": {"7.sst"},
    }  # fmt: skip
    assert listing["state/0/1/SSTs"]["7.sst"] == 3
    assert unreadable == ()


def test_it_names_the_files_and_directories_in_one_directory(make: Make) -> None:
    storage = make(FILES)
    assert set(storage.names("")) == {"metadata", "offsets", "state"}
    assert set(storage.names("offsets")) == {"0", ".0.crc"}
    assert set(storage.names("state/0")) == {"1"}


def test_a_directory_that_is_missing_or_a_file_has_no_names(make: Make) -> None:
    storage = make(FILES)
    for directory in ("commits", "state/9/9", "metadata", "metadata/0"):
        assert list(storage.names(directory)) == []


def test_it_tells_the_size_of_any_file_that_exists(make: Make) -> None:
    storage = make(FILES)
    assert [storage.size(path) for path in FILES] == [2, 4, 3, 3]
    assert storage.size("offsets/1") == storage.size("nowhere/1") == 0


def test_what_was_set_aside_is_not_listed(make: Make) -> None:
    storage = make(FILES)
    storage.move("offsets/0", "_rewind/op/offsets/0")
    assert storage.create("_rewind/journal.json", b"{}")
    listing, _ = storage.list()
    assert "0" not in listing["offsets"]
    assert list(listing["_rewind"]) == ["journal.json"]
    assert "_rewind/op" not in listing


def test_it_reads_up_to_a_limit(make: Make) -> None:
    storage = make(FILES)
    assert storage.read("offsets/0", 4) == b"zero"
    assert storage.read("offsets/0", 3) is None
    assert storage.read("offsets/9", 4) is None


def test_a_file_is_created_once(make: Make) -> None:
    storage = make(FILES)
    assert storage.create("offsets/1", b"one")
    assert not storage.create("offsets/1", b"other")
    assert storage.read("offsets/1", 9) == b"one"
    assert storage.holds("offsets/1")
    assert not storage.holds("offsets/2")


def test_a_move_takes_a_file_or_a_directory_and_overwrites_nothing(make: Make) -> None:
    storage = make(FILES)
    storage.move("state", "_rewind/op/state")
    assert storage.read("_rewind/op/state/0/1/SSTs/7.sst", 9) == b"sst"
    assert not storage.holds("state")
    with pytest.raises(FileNotFoundError):
        storage.move("state", "_rewind/op/again")
    with pytest.raises(FileExistsError):
        storage.move("metadata", "offsets/0")
    storage.sync(["offsets", "_rewind/op", "", "not/there"])
    assert storage.read("offsets/0", 9) == b"zero"


MOVES = [(path, f"_rewind/op/{path}") for path in ("offsets/0", "offsets/.0.crc", "state")]


def test_many_moves_are_done_and_those_that_were_done_before_are_skipped(make: Make) -> None:
    storage = make(FILES)
    storage.move(*MOVES[1])
    for _ in range(2):
        storage.move_all(MOVES, lambda _done, _total: None)
        assert [storage.holds(source) for source, _ in MOVES] == [False, False, False]
        assert storage.read("_rewind/op/offsets/0", 9) == b"zero"
        assert storage.read("_rewind/op/offsets/.0.crc", 9) == b"crc"
        assert storage.read("_rewind/op/state/0/1/SSTs/7.sst", 9) == b"sst"


@pytest.mark.parametrize("conflict", ["neither exists", "both exist"])
def test_a_move_whose_source_and_target_are_both_missing_or_both_there_is_a_conflict(make: Make, conflict: str) -> None:
    move = ("offsets/0", "_rewind/op/offsets/0") if conflict == "both exist" else ("offsets/1", "_rewind/op/offsets/1")
    storage = make({**FILES, "_rewind/op/offsets/0": b"another"})
    with pytest.raises(MoveConflict) as found:
        storage.move_all([("metadata", "_rewind/op/metadata"), move, ("state", "_rewind/op/state")], lambda _done, _total: None)
    assert (found.value.source, found.value.target) == move
    # Neither file was overwritten, and what follows was not begun.
    assert storage.read("offsets/0", 9) == b"zero"
    assert storage.read("_rewind/op/offsets/0", 9) == b"another"
    assert storage.holds("state")


def test_many_moves_report_their_progress_from_none_to_all(make: Make) -> None:
    count = 2_500
    files = {f"offsets/{number}": b"x" for number in range(count)}
    seen: list[tuple[int, int]] = []
    make(files).move_all([(path, f"_rewind/op/{path}") for path in files], lambda done, total: seen.append((done, total)))
    assert (seen[0], seen[-1]) == ((0, count), (count, count))
    assert seen == sorted(seen)
    # In between too, but not for every file.
    assert 2 < len(seen) < 100


def test_no_moves_are_done_at_once(make: Make) -> None:
    seen: list[tuple[int, int]] = []
    make({}).move_all([], lambda done, total: seen.append((done, total)))
    assert seen == [(0, 0)]


def test_nothing_is_left_behind_by_a_creation(tmp_path: Path) -> None:
    (tmp_path / "offsets").mkdir()
    storage = LocalStorage(tmp_path)
    storage.create("offsets/1", b"one")
    storage.create("offsets/1", b"two")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["1", "_rewind", "offsets"]
