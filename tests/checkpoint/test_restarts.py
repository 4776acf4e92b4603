"""Real checkpoints, made once by real queries: what is seen in them, and that a verdict is what a restart then does.

The rewind is done by hand here, file by file as docs/internals/rewinding.md says: it judges the reader, no tool of ours.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from anabranch.checkpoint.layout import log_offset, parse_state_name
from anabranch.checkpoint.reader import read_checkpoint
from anabranch.checkpoint.report import as_json, view_operator
from anabranch.checkpoint.restartable import judge_replan, judge_replay
from anabranch.storage.local import LocalStorage
from tests.support.queries import FILES, KINDS, STATEFUL, Query, copy_of
from tests.support.reasons import codes_in, param

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("name", [kind.name for kind in KINDS])
def test_a_real_checkpoint_is_sound_and_seen_as_what_it_is(name: str, made: Callable[[str], Query]) -> None:
    query = made(name)
    checkpoint = read_checkpoint(LocalStorage(query.checkpoint))
    found = as_json(checkpoint)
    assert found["findings"] == []
    assert found["newest_batch"] == FILES - 1
    assert found["query_id"]
    assert [batch["sources"][0] for batch in found["batches"][1:]] == [
        {"kind": "file", "start": batch["id"] - 1, "end": batch["id"], "rows": None} for batch in found["batches"][1:]
    ]
    assert found["formats"]["state"] == (None if name not in STATEFUL else 2 if name == "format-2" else 1)
    for operator in (view_operator(checkpoint, one) for one in checkpoint.operators):
        assert (operator.provider, len(operator.stores), operator.partitions) == (query.kind.shown_as, query.kind.stores, 2)
        assert operator.name
        assert operator.versions is not None
        assert operator.versions[1] == FILES


@pytest.mark.parametrize("mode", ["replay", "replan"])
@pytest.mark.parametrize("name", STATEFUL)
def test_the_oldest_batch_that_is_said_to_be_possible_really_runs_again(
    name: str, mode: str, made: Callable[[str], Query]
) -> None:
    query = made(name)
    checkpoint = read_checkpoint(LocalStorage(query.checkpoint))
    verdict = judge_replay if mode == "replay" else judge_replan
    batch = next(batch for batch in checkpoint.batches if verdict(checkpoint, batch).possible)
    assert batch < FILES - 1
    rewind_by_hand(query.checkpoint, batch, mode)
    assert as_json(read_checkpoint(LocalStorage(query.checkpoint)))["findings"] == []
    assert query.run() == {number: rows for number, rows in query.results.items() if number >= batch}
    assert as_json(read_checkpoint(LocalStorage(query.checkpoint)))["findings"] == []


def test_what_is_said_to_be_impossible_really_does_not_start(made: Callable[[str], Query], tmp_path: Path) -> None:
    query = made("hdfs")
    checkpoint = read_checkpoint(LocalStorage(query.checkpoint))
    batch = next(batch for batch in checkpoint.batches if judge_replay(checkpoint, batch).possible)
    why = judge_replan(checkpoint, batch).why_not[0]
    assert (codes_in(why), why.params["file"]) == (["entry-missing", "last-two"], f"offsets/{batch - 2}")
    copy = copy_of(query, tmp_path)
    rewind_by_hand(copy.checkpoint, batch, "replan")
    with pytest.raises(Exception, match=f"batch {batch - 2} doesn't exist"):
        copy.run()


def test_without_an_sst_that_its_zip_names_a_version_does_not_load(made: Callable[[str], Query], tmp_path: Path) -> None:
    copy = copy_of(made("rocksdb"), tmp_path)
    checkpoint = read_checkpoint(LocalStorage(copy.checkpoint))
    newest = FILES - 1
    assert judge_replay(checkpoint, newest).possible
    store = checkpoint.operators[0].stores[0]
    named = checkpoint.contents.zip_metadata(f"{store.directory}/{newest}.zip") or ""
    sst = json.loads(named.partition("\n")[2])["sstFiles"][0]["dfsSstFileName"]
    (copy.checkpoint / store.directory / "SSTs" / sst).unlink()
    why = judge_replay(read_checkpoint(LocalStorage(copy.checkpoint)), newest).why_not[0]
    assert (codes_in(why)[-1], param("needed", why)) == ("zip-lacks", f"SSTs/{sst}")
    rewind_by_hand(copy.checkpoint, newest, "replay")
    with pytest.raises(Exception, match=sst):
        copy.run()


def _fence(root: Path) -> None:
    (root / "offsets" / str(FILES)).write_text("v99999\n")


def _stray(root: Path) -> None:
    checksum = root / "offsets" / f".{FILES - 1}.crc"
    content = checksum.read_bytes()
    rewind_by_hand(root, FILES - 1, "replan")
    checksum.write_bytes(content)


def _edited(root: Path) -> None:
    entry = root / "offsets" / str(FILES - 1)
    entry.write_text(entry.read_text().replace('"logOffset":', '"logOffset": '))


def _gap(root: Path) -> None:
    (root / "offsets" / str(FILES - 2)).unlink()
    (root / "offsets" / f".{FILES - 2}.crc").unlink()


def _empty(root: Path) -> None:
    (root / "offsets" / str(FILES - 1)).write_text("")
    (root / "offsets" / f".{FILES - 1}.crc").unlink()


@pytest.mark.parametrize(
    ("spoil", "code", "error"),
    [
        (_fence, "fence", "INVALID_LOG_VERSION"),
        (_stray, "stray-crc", "Multiple streaming queries are concurrently using"),
        (_gap, "gap", f"batch {FILES - 2} doesn't exist"),
        (_empty, "log-empty", "Incomplete log file"),
        (lambda root: (root / "metadata").unlink(), "metadata-missing", "MISSING_METADATA_FILE"),
    ],
)
def test_what_a_finding_says_that_spark_does_it_does(
    spoil: Callable[[Path], None], code: str, error: str, made: Callable[[str], Query], tmp_path: Path
) -> None:
    copy = copy_of(made("stateless-default"), tmp_path)
    spoil(copy.checkpoint)
    assert code in [one["code"] for one in as_json(read_checkpoint(LocalStorage(copy.checkpoint)))["findings"]]
    with pytest.raises(Exception, match=error):
        copy.run()


def test_our_file_manager_writes_over_a_stray_checksum(made: Callable[[str], Query], tmp_path: Path) -> None:
    copy = copy_of(made("stateless"), tmp_path)
    _stray(copy.checkpoint)
    assert list(copy.run()) == [FILES - 1]
    assert as_json(read_checkpoint(LocalStorage(copy.checkpoint)))["findings"] == []


def test_an_edited_log_fails_its_check_with_our_file_manager_and_passes_with_sparks(
    made: Callable[[str], Query], tmp_path: Path
) -> None:
    for name in ("stateless", "stateless-default"):
        copy = copy_of(made(name), tmp_path / name)
        _edited(copy.checkpoint)
        assert [one["code"] for one in as_json(read_checkpoint(LocalStorage(copy.checkpoint)))["findings"]] == ["checksum"]
        if name == "stateless":
            with pytest.raises(Exception, match="Checksum error"):
                copy.run()
        else:
            copy.run()


def rewind_by_hand(root: Path, batch: int, mode: str) -> None:
    """Section 1: what is beyond goes, with both kinds of checksums."""
    last_kept = batch if mode == "replay" else batch - 1
    entry = read_checkpoint(LocalStorage(root)).offset_entry(last_kept)
    assert entry is not None
    limit = log_offset(entry.sources[0])
    assert limit is not None
    _take_out(root / "commits", lambda number: number >= batch)
    _take_out(root / "offsets", lambda number: number > last_kept)
    for log in (root / "sources").iterdir():
        _take_out(log, lambda number: number > limit)
    for log in root.glob("state/*/_metadata/v2"):
        _take_out(log, lambda number: number >= batch)
    for path in list(root.glob("state/**/*")):
        plain = path.name.removeprefix(".")
        while plain.endswith(".crc"):
            plain = plain.removesuffix(".crc")
        file = parse_state_name(plain)
        if file is not None and file.version > batch:
            path.unlink()


def _take_out(log: Path, is_beyond: Callable[[int], bool]) -> None:
    for path in list(log.iterdir()):
        name = path.name.removeprefix(".").removesuffix(".crc").removesuffix(".compact")
        if name.isdecimal() and is_beyond(int(name)):
            path.unlink()
