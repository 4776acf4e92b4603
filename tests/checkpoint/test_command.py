"""anabranch checkpoint on a disk: drawn checkpoints, written out, read back through the real command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from anabranch.checkpoint.checkpoint import assemble_checkpoint
from anabranch.checkpoint.reader import StoredContents, read_checkpoint
from anabranch.checkpoint.report import as_json
from anabranch.cli.main import run_command
from anabranch.storage.local import LocalStorage
from tests.support.drawing import JOIN, PROVIDERS, checkpoint_of, draw, without, write_tree
from tests.support.harness import PATIENCE_S

Capture = pytest.CaptureFixture[str]


# A drawing's checksums are none, which is a finding.
FOUND = 4


def command(*arguments: str) -> int:
    return run_command(["checkpoint", *arguments])


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_directory_says_the_same_as_its_drawing(provider: str, tmp_path: Path) -> None:
    tree = without(draw(provider, stores=JOIN, committed=range(8)), "commits/3", "commits/.3.crc")
    # The drawing's checksums are none; with real ones a start would not fail on them.
    tree = {path: text for path, text in tree.items() if not path.endswith(".crc")}
    on_disk, drawn = as_json(read_checkpoint(LocalStorage(write_tree(tree, tmp_path)))), as_json(checkpoint_of(tree))
    assert on_disk == {**drawn, "path": str(tmp_path)}


def test_the_newest_20_are_shown_and_all_on_demand(tmp_path: Path, capsys: Capture) -> None:
    write_tree(draw(batches=range(50)), tmp_path)
    assert command(str(tmp_path)) == FOUND
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines if line[:2].strip().isdecimal()][:20] == [str(n) for n in range(30, 50)]
    assert "... and 30 older, from 0: --all shows them." in lines
    assert any("you can rewind to: 0, planned 2025-09-11T16:04:26.015Z, 12m15s before" in line for line in lines)
    assert command(str(tmp_path), "--all") == FOUND
    assert "older" not in capsys.readouterr().out


def test_json_holds_every_batch_and_one_when_one_is_asked_for(tmp_path: Path, capsys: Capture) -> None:
    write_tree(draw(batches=range(50)), tmp_path)
    assert command(str(tmp_path), "--json") == FOUND
    assert [batch["id"] for batch in json.loads(capsys.readouterr().out)["batches"]] == list(range(50))
    assert command(str(tmp_path), "--json", "--batch", "7") == 0
    assert [batch["id"] for batch in json.loads(capsys.readouterr().out)["batches"]] == [7]


def test_one_batch_is_shown_in_full(tmp_path: Path, capsys: Capture) -> None:
    write_tree(without(draw(), "commits/4"), tmp_path)
    assert command(str(tmp_path), "--batch", "5") == FOUND
    out = capsys.readouterr().out
    assert "  visits 0: 50..60" in out
    assert "conf       spark.sql.shuffle.partitions=2" in out
    assert "replay     not possible\n  commits/4 is missing: batch 4 would run again into the sink" in out


def test_findings_come_with_their_remedies_and_many_of_a_kind_are_counted(tmp_path: Path, capsys: Capture) -> None:
    write_tree(draw() | {f"offsets/.{n}.crc": "x" for n in range(100, 130)}, tmp_path)
    assert command(str(tmp_path)) == FOUND
    out = capsys.readouterr().out
    assert "offsets/.100.crc [stray-crc]" in out
    assert "-> remove offsets/.100.crc" in out
    assert "... and 25 more [stray-crc]: --all shows them." in out


def test_a_log_that_was_edited_does_not_fit_its_checksum(tmp_path: Path) -> None:
    write_tree(without(draw(None), *(path for path in draw(None) if path.endswith(".crc"))), tmp_path)
    entry = tmp_path / "offsets" / "8"
    content = entry.read_bytes()
    pieces = [zlib.crc32(content[at : at + 512]).to_bytes(4, "big") for at in range(0, len(content), 512)]
    (tmp_path / "offsets" / ".8.crc").write_bytes(b"crc\0" + (512).to_bytes(4, "big") + b"".join(pieces))
    assert as_json(read_checkpoint(LocalStorage(tmp_path)))["findings"] == []
    entry.write_bytes(content.replace(b"90", b"91"))
    assert [one["code"] for one in as_json(read_checkpoint(LocalStorage(tmp_path)))["findings"]] == ["checksum"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["./nothing"], 2, "usage[no-checkpoint]"),
        (["./file"], 2, "usage[no-checkpoint]"),
        (["empty"], 2, "usage[not-a-checkpoint]"),
        (["parent"], 2, "-> anabranch checkpoint parent/child"),
        (["visits-lgo"], 2, "did you mean visits-log?"),
        (["visits-log"], 2, "usage[no-checkpoint]"),
        (["parent/child", "--batch", "99"], 2, "usage[batch-missing]"),
        (["purged", "--batch", "3"], 2, "usage[batch-gone]"),
        (["fresh", "--batch", "3"], 2, "usage[no-batch-yet]"),
        (["parent/bad\0name"], 2, "at parent/bad\\x00name"),
    ],
)
def test_what_is_no_checkpoint_is_refused_with_a_remedy(
    arguments: list[str], code: int, said: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "empty").mkdir()
    (tmp_path / "fresh" / "offsets").mkdir(parents=True)
    write_tree(draw(), tmp_path / "parent" / "child")
    write_tree(draw(batches=range(20, 25)), tmp_path / "purged")
    monkeypatch.chdir(tmp_path)
    assert command(*arguments) == code
    assert said in capsys.readouterr().err


def test_a_directory_with_the_name_of_a_pipeline_wins(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tree(draw(), tmp_path / "visits-log")
    monkeypatch.chdir(tmp_path)
    assert command("visits-log") == FOUND
    assert str(tmp_path / "visits-log") in capsys.readouterr().out


def test_a_pipeline_is_found_in_its_project_for_each_sink(tmp_path: Path, capsys: Capture) -> None:
    write_tree(draw(), tmp_path / ".anabranch" / "checkpoints" / "visits-log" / "console")
    write_tree(draw(batches=range(3)), tmp_path / ".anabranch" / "checkpoints" / "visits-log" / "topic-other")
    assert run_command(["-C", str(tmp_path), "checkpoint", "visits-log", "--json"]) == FOUND
    assert json.loads(capsys.readouterr().out)["newest_batch"] == 8
    assert run_command(["-C", str(tmp_path), "checkpoint", "visits-log", "--to", "topic:other", "--json"]) == FOUND
    assert json.loads(capsys.readouterr().out)["newest_batch"] == 2


def test_text_from_files_cannot_act_on_the_screen(tmp_path: Path, capsys: Capture) -> None:
    evil = "\x1b[2J\x07"
    tree = draw() | {"metadata": json.dumps({"id": evil}), "offsets/8": f'v1\n{{"conf":{{"{evil}":"1"}}}}\n{evil}'}
    tree |= {f"offsets/.{evil}.crc": "x"}
    write_tree(tree, tmp_path)
    for arguments in ([], ["--all"], ["--batch", "8"]):
        assert command(str(tmp_path), *arguments) == FOUND
        assert "\x1b" not in (out := capsys.readouterr().out)
        assert "\\x1b[2J" in out


def test_links_in_a_circle_and_links_to_nowhere_end(tmp_path: Path, capsys: Capture) -> None:
    write_tree(draw(), tmp_path)
    (tmp_path / "state" / "0" / "loop").symlink_to(tmp_path / "state")
    (tmp_path / "offsets" / "9").symlink_to(tmp_path / "nowhere")
    assert command(str(tmp_path)) == FOUND
    assert "offsets/9 [unreadable]: it cannot be read. A start reads it and fails." in capsys.readouterr().out


def test_directories_in_place_of_files_are_not_taken_for_them(tmp_path: Path) -> None:
    write_tree(draw(None), tmp_path)
    (tmp_path / "offsets" / "9").mkdir()
    (tmp_path / "metadata").unlink()
    (tmp_path / "metadata").mkdir()
    found = as_json(read_checkpoint(LocalStorage(tmp_path)))
    assert found["newest_batch"] == 8
    assert "metadata-missing" in [one["code"] for one in found["findings"]]


def test_a_directory_that_cannot_be_listed_is_a_finding(tmp_path: Path) -> None:
    """Nothing is unreadable to root, who may run this test: so it is said, not done."""
    on_disk = read_checkpoint(LocalStorage(write_tree(draw(None), tmp_path)))
    found = as_json(assemble_checkpoint("/x", on_disk.listing, on_disk.contents, unreadable=("state",)))["findings"]
    assert [(one["code"], one["file"]) for one in found if one["code"] == "unreadable"] == [("unreadable", "state")]


def test_halves_of_characters_in_texts_and_names_can_be_written(tmp_path: Path, capsys: Capture) -> None:
    half = '"\\ud800"'
    write_tree(draw() | {"offsets/8": f"v1\n{{}}\n{half}"}, tmp_path)
    Path(os.fsdecode(os.fsencode(tmp_path / "offsets") + b"/.\xff.crc")).touch()
    for arguments in (["--json"], ["--json", "--batch", "8"], ["--all"], ["--batch", "8"]):
        assert command(str(tmp_path), *arguments) == FOUND
        assert "ud800" in capsys.readouterr().out.encode("utf-8").decode("utf-8")


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(0, 400), piece=st.binary(max_size=12), keep=st.integers(0, 400))
def test_no_zip_whatever_makes_reading_throw(at: int, piece: bytes, keep: int, tmp_path: Path) -> None:
    path = tmp_path / "1.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("metadata", 'v1\n{"sstFiles":[]}')
    content = path.read_bytes()
    path.write_bytes((content[:at] + piece + content[at + len(piece) :])[:keep])
    read = StoredContents(LocalStorage(tmp_path)).zip_metadata("1.zip")
    assert read is None or isinstance(read, str)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full is Linux's")
def test_a_full_disk_is_said_to_be_full(tmp_path: Path) -> None:
    write_tree(draw(), tmp_path)
    command = [sys.executable, "-m", "anabranch", "checkpoint", str(tmp_path)]
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=PATIENCE_S, check=False)
    assert (done.returncode, done.stderr.splitlines()[:2]) == (
        1,
        ["error[system-refused]: No space left on device", "  -> free space on that disk"],
    )
