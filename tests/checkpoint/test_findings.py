"""What is wrong with a checkpoint, on drawn ones: each defect gives its finding, a sound checkpoint gives none."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from anabranch.checkpoint.findings import Finding, findings
from tests.support.drawing import JOIN, PROVIDERS, Tree, checkpoint_of, draw, offsets, state_id, without
from tests.support.reasons import param


def found(tree: Tree, batches: list[int] | None = None) -> dict[tuple[str, str], Finding]:
    return {(one.code, one.file): one for one in findings(checkpoint_of(tree), batches)}


@pytest.mark.parametrize("provider", [*PROVIDERS, None])
@pytest.mark.parametrize("source", ["kafka", "file", "rate"])
@pytest.mark.parametrize("first", [0, 5, 100])
def test_a_sound_checkpoint_has_no_findings(provider: str | None, source: str, first: int) -> None:
    batches = range(first, first + 9)
    assert found(draw(provider, source=source, batches=batches)) == {}
    assert found(draw(provider, source=source, batches=batches, committed=range(first, first + 8))) == {}
    assert found(draw(provider, source=source, batches=batches, v2=True, stores=JOIN)) == {}


TOO_MANY = 'v1\n{"operatorInfo":{"operatorName":"x"},"stateStoreInfo":[{"storeName":"a","numPartitions":1e12}]}'


def put(path: str, text: str = "x") -> Callable[[Tree], Tree]:
    return lambda tree: tree | {path: text}


def cut(*paths: str) -> Callable[[Tree], Tree]:
    return lambda tree: without(tree, *paths)


@pytest.mark.parametrize(
    ("spoil", "code", "file", "what"),
    [
        (cut("metadata", ".metadata.crc"), "metadata-missing", "metadata", "Spark refuses to start"),
        (put("metadata", "{"), "metadata-broken", "metadata", "a start fails"),
        (put("metadata", '{"id":""}'), "metadata-broken", "metadata", "a start fails"),
        (cut("offsets/4", "offsets/.4.crc"), "gap", "offsets/4", "A start does not need them"),
        (cut("offsets/7", "offsets/.7.crc"), "gap", "offsets/7", "A start reads the last two entries and fails"),
        (cut("commits/4", "commits/5", "commits/.4.crc", "commits/.5.crc"), "gap", "commits/4", "commits/4 to 5 are missing"),
        (put("offsets/8", ""), "log-empty", "offsets/8", "A start reads it and fails"),
        (put("offsets/3", ""), "log-empty", "offsets/3", "A start does not read it, a rewind near it would"),
        (put("commits/8", ""), "log-empty", "commits/8", "A start reads it and fails"),
        (put("offsets/7", "v1\n{"), "log-broken", "offsets/7", "A start reads it and fails"),
        (put("commits/2", "v1"), "log-broken", "commits/2", "A start does not read it"),
        (put("offsets/.8.crc", "other"), "checksum", "offsets/8", "changed after Spark wrote it"),
        (cut("offsets/8", "offsets/.8.crc"), "commit-without-offsets", "commits/8", "fails at its commit"),
        (cut("offsets/4", "offsets/.4.crc"), "commit-without-offsets", "commits/4", "A start does not read it"),
        (cut("offsets/"), "commit-without-offsets", "commits/8", "takes this for a new query"),
        (cut("commits/6", "commits/7", "commits/8"), "commits-behind", "commits/7", "runs only 8 again"),
        (cut("offsets/8"), "stray-crc", "offsets/.8.crc", "concurrently using"),
        (put("offsets/.9.crc"), "stray-crc", "offsets/.9.crc", "concurrently using"),
        (put("state/0/_metadata/v2/.7.crc"), "stray-crc", "state/0/_metadata/v2/.7.crc", "concurrently using"),
        (put("state/0/1/.12.changelog.crc"), "stray-crc", "state/0/1/.12.changelog.crc", "without its file 12.changelog"),
        (put("state/0/1/12_a.zip.crc"), "stray-crc", "state/0/1/12_a.zip.crc", "without its file 12_a.zip"),
        (put("offsets/.9.6f1c.tmp"), "temporary", "offsets/.9.6f1c.tmp", "Spark does not read it"),
        (put("state/0/0/..9.delta.6f1c.TID3.tmp.crc"), "temporary", "state/0/0/..9.delta.6f1c.TID3.tmp.crc", "Spark does not"),
        (put("offsets/9", "v99999\n"), "fence", "offsets/9", "INVALID_LOG_VERSION"),
        (put("_rewind/journal.json"), "journal", "_rewind/journal.json", "is not finished"),
        (cut("state/0/1/9.changelog"), "state-missing", "state/0/1/9.*", "Batch 9 needs version 9 and fails"),
        (cut("state/0/1/"), "state-missing", "state/0/1", "Batch 9 needs version 9 and fails"),
        (put("state/0/1/9.changelog", ""), "state-torn", "state/0/1/9.changelog", "Batch 9 needs version 9 and fails"),
        (put("state/0/1/8.zip", "x"), "state-torn", "state/0/1/8.zip", "not a complete zip"),
        (put("state/0/0/4.zip", ""), "state-torn", "state/0/0/4.zip", "A start does not need it, a rewind to batch 4 would"),
        (cut("state/0/0/5.changelog"), "no-base", "state/0/0/5.*", "version 6 holds only changes"),
        (cut("state/0/1/SSTs/000008-1.sst"), "sst-missing", "state/0/1/SSTs/000008-1.sst", "8.zip needs SSTs/000008-1.sst"),
        (put("state/0/1/10.changelog"), "state-ahead", "state/0/1/10.changelog", "the log ends at batch 8"),
        (put("state/0/_metadata/metadata", ""), "operator-metadata", "state/0/_metadata/metadata", "reads it and fails"),
        (put("state/0/_metadata/metadata", TOO_MANY), "operator-metadata", "state/0/_metadata/metadata", "reads it and fails"),
        (cut("offsets/", "commits/"), "state-ahead", "state", "no batch is planned"),
    ],
)  # fmt: skip
def test_each_defect_gives_its_finding(spoil: Callable[[Tree], Tree], code: str, file: str, what: str) -> None:
    seen = found(spoil(draw("changelog")))
    assert (code, file) in seen, list(seen)
    assert what in seen[(code, file)].reason.text
    assert seen[(code, file)].remedy


def test_state_ahead_is_told_for_every_store_and_also_of_operator_metadata() -> None:
    tree = draw("hdfs", v2=True)
    ahead = {f"state/0/{p}/{v}.{k}": "x" for p in (0, 1) for v, k in ((11, "delta"), (12, "snapshot"))}
    seen = found(tree | ahead | {"state/0/_metadata/v2/9": tree["state/0/_metadata/v2/0"]})
    assert set(seen) == {
        ("state-ahead", "state/0/0/11.delta"),
        ("state-ahead", "state/0/1/11.delta"),
        ("state-ahead", "state/0/_metadata/v2/9"),
    }
    ahead_of = seen[("state-ahead", "state/0/0/11.delta")].reason
    assert (param("first", ahead_of), param("last", ahead_of)) == (11, 12)


def test_what_the_unfinished_batch_wrote_is_not_ahead() -> None:
    tree = draw("changelog", committed=range(8))
    assert found(without(tree, "state/0/1/9.changelog")) == {}


def test_a_copied_checkpoint_is_known_by_the_paths_it_names() -> None:
    tree = draw("changelog", v2=True)
    seen = {one.code: one for one in findings(checkpoint_of(tree, "/elsewhere/copy"))}
    assert set(seen) == {"copied"}
    assert seen["copied"].reason.params["outside"] == "file:/data/checkpoint/state/0/_stateSchema/default/0_abc"
    remote = {path: text.replace("file:/data", "s3a://bucket/data") for path, text in tree.items()}
    assert {one.code for one in findings(checkpoint_of(remote))} == {"copied"}


def test_a_schema_that_is_gone_is_found() -> None:
    seen = found(without(draw("changelog", v2=True), "state/0/_stateSchema/default/0_abc"))
    assert set(seen) == {("schema-missing", "state/0/_stateSchema/default/0_abc")}


def test_the_log_of_the_files_may_be_one_ahead_not_more() -> None:
    tree = draw(source="file")
    assert found(tree | {"sources/0/9": "v1\n{}"}) == {}
    seen = found(tree | {"sources/0/9": "v1\n{}", "sources/0/10": "v1\n{}"})
    assert set(seen) == {("source-ahead", "sources/0/10")}


def test_an_unfinished_batch_of_version_2_is_found() -> None:
    tree = draw(committed=range(8)) | {f"offsets/{n}": offsets(n, version=2) for n in range(9)}
    assert set(found(tree)) == {("unfinished-version-2", "offsets/8")}


def test_commits_that_are_purged_later_than_offsets_are_no_finding() -> None:
    tree = without(draw(None), "offsets/0", "offsets/1", "offsets/.0.crc", "offsets/.1.crc")
    assert found(tree) == {}


def test_only_the_batches_asked_for_are_read() -> None:
    tree = draw("changelog") | {"offsets/2": "", "state/0/0/4.zip": "x"}
    assert found(tree, [8]) == {}
    assert set(found(tree)) == {("log-empty", "offsets/2"), ("state-torn", "state/0/0/4.zip")}


def test_a_file_in_the_way_of_many_batches_is_named_once() -> None:
    tree = draw("changelog") | {"state/0/0/4.zip": "x"}
    assert list(found(tree)) == [("state-torn", "state/0/0/4.zip")]
    tree = without(draw("format-2"), f"state/0/0/4_{state_id(4)}.zip", f"state/0/0/4_{state_id(4)}.changelog")
    assert list(found(tree)) == [("no-base", "state/0/0/4.*")]


def test_one_commit_behind_is_a_batch_under_way_two_are_a_finding() -> None:
    assert found(draw(None, committed=range(8))) == {}
    assert ("commits-behind", "commits/7") in found(draw(None, committed=range(7)))


def test_a_garbage_number_of_a_partition_makes_one_finding_not_thousands() -> None:
    tree = without(draw("hdfs"), "state/0/_metadata/metadata", "state/0/_metadata/.metadata.crc")
    seen = found(tree | {"state/0/99999999999/9.delta": "x"})
    (missing,) = (one for (code, file), one in seen.items() if (code, file) == ("state-missing", "state/0/2"))
    assert param("count", missing.reason) == 99_997
