"""Small files on a disk: whole or not at all, and lines that never mix."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from anabranch.storage.files import (
    HOME,
    CheckpointLocation,
    append_line,
    make_directory,
    read_text,
    remove,
    write_whole,
)
from anabranch.storage.lease import take_lease


def test_a_file_is_written_with_the_directories_above_it_and_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "not" / "yet" / "plan.json"
    for text in ("été\n", "", "a longer text\n" * 1000):
        write_whole(path, text)
        assert read_text(path) == text
    assert os.listdir(path.parent) == ["plan.json"]  # noqa: PTH208 - hidden files count as well


MAKERS: list[Callable[[Path], object]] = [
    lambda home: write_whole(home / "operations" / "id" / "plan.json", ""),
    lambda home: write_whole(home / "project.json", ""),
    lambda home: append_line(home / "checkpoints" / "console.history.jsonl", ""),
    lambda home: take_lease(CheckpointLocation(home / "checkpoints" / "console"), "visits-log", "run").release(),
    lambda home: make_directory(home / "broker"),
]


@pytest.mark.parametrize("make", MAKERS)
def test_what_a_project_keeps_is_open_to_its_owner_only_whoever_makes_it_first(
    tmp_path: Path, make: Callable[[Path], object]
) -> None:
    home = tmp_path / "project" / HOME
    before = os.umask(0)
    try:
        make(home)
    finally:
        os.umask(before)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (home, home.parent)] == [0o700, 0o777]


def test_a_directory_that_is_there_is_not_changed(tmp_path: Path) -> None:
    (tmp_path / HOME).mkdir(0o755)
    assert make_directory(tmp_path / HOME / "broker")
    assert not make_directory(tmp_path / HOME / "broker")
    assert stat.S_IMODE((tmp_path / HOME).stat().st_mode) == 0o755


def test_a_write_that_fails_leaves_the_old_content_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "plan.json"
    write_whole(path, "old")

    def disk_is_full(_descriptor: int) -> None:
        raise OSError("no space")

    monkeypatch.setattr(os, "fsync", disk_is_full)
    with pytest.raises(OSError, match="no space"):
        write_whole(path, "new")
    assert path.read_text(encoding="utf-8") == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["plan.json"]


def test_a_reader_sees_one_content_or_the_other(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    contents = ["a" * 100_000, "b" * 100_000]
    write_whole(path, contents[0])

    def write() -> None:
        for number in range(50):
            write_whole(path, contents[number % 2])

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        while not writing.done():
            assert read_text(path) in contents
        writing.result()


@pytest.mark.parametrize("is_durable", [False, True])
def test_lines_are_appended_in_their_order(tmp_path: Path, is_durable: bool) -> None:
    path = tmp_path / "not" / "yet" / "history.jsonl"
    for line in ("one", "été", ""):
        append_line(path, line, is_durable=is_durable)
    assert path.read_bytes() == "one\nété\n\n".encode()


def test_a_torn_last_line_stays_on_a_line_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    append_line(path, '{"batch": 0}')
    # A crash in the middle of a write, and in the middle of a character.
    path.write_bytes(path.read_bytes() + '{"batch": "é'.encode()[:-1])
    for number in (1, 2):
        append_line(path, f'{{"batch": {number}}}')
    assert path.read_bytes().split(b"\n") == [b'{"batch": 0}', b'{"batch": "\xc3', b'{"batch": 1}', b'{"batch": 2}', b""]


def test_lines_of_two_writers_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    lines = [writer * 500 for writer in "ab"]
    append_line(path, "head")

    def append(line: str) -> None:
        for _ in range(200):
            append_line(path, line)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(append, lines))
    head, *appended = path.read_text(encoding="utf-8").splitlines()
    assert head == "head"
    assert sorted(appended) == sorted(lines * 200)


def test_a_file_that_is_missing_has_no_text_and_may_be_removed(tmp_path: Path) -> None:
    path = tmp_path / "stop"
    assert read_text(path) is None
    assert read_text(tmp_path / "not" / "yet" / "stop") is None
    write_whole(path, "")
    assert read_text(path) == ""
    assert read_text(path / "below a file") is None
    for _ in range(2):
        remove(path)
    assert read_text(path) is None


def test_bytes_that_are_no_text_are_read_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "lease"
    path.write_bytes(b"\xff{")
    assert read_text(path) == "\ufffd{"
