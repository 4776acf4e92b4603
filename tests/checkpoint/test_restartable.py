"""Which batches can be rewound to, on drawn checkpoints: each of the five rules, by what it needs and what it does not."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.checkpoint.restartable import Rewindability, judge_replan, judge_replay, oldest_restartable
from tests.support.drawing import JOIN, PROVIDERS, Tree, checkpoint_of, commit, draw, offsets, state_id, without
from tests.support.reasons import codes_in, param

NEWEST = 8


def replay(tree: Tree, batch: int) -> Rewindability:
    return judge_replay(checkpoint_of(tree), batch)


def replan(tree: Tree, batch: int) -> Rewindability:
    return judge_replan(checkpoint_of(tree), batch)


@pytest.mark.parametrize("batch", range(NEWEST + 1))
@pytest.mark.parametrize("provider", [*PROVIDERS, None])
@pytest.mark.parametrize("source", ["kafka", "file", "rate"])
def test_in_a_sound_checkpoint_every_batch_is_possible(provider: str | None, source: str, batch: int) -> None:
    tree = draw(provider, source=source)
    assert replay(tree, batch) == Rewindability()
    assert replan(tree, batch) == Rewindability()


@pytest.mark.parametrize("provider", PROVIDERS)
def test_every_batch_is_possible_in_a_join_with_four_stores_and_in_transform_with_state(provider: str) -> None:
    for tree in (draw(provider, stores=JOIN), draw(provider, v2=True)):
        assert all(replay(tree, n).possible and replan(tree, n).possible for n in range(NEWEST + 1))


RANGE, START, LAST_TWO = (["entry-missing", code] for code in ("says-range", "says-start", "last-two"))
AGAIN = ["entry-missing", "runs-again"]
NO_FILE = ["state-not-loadable", "in-store", "version-missing"]
NO_SST = ["state-not-loadable", "in-store", "zip-lacks"]
NO_STORE = ["state-not-loadable", "store-missing"]
INITIAL = ["initial-missing"]


@pytest.mark.parametrize(
    ("gone", "batch", "replayed", "replanned"),
    [
        # Rule 1: a start reads the last two entries of the offsets.
        ("offsets/5", 5, RANGE, None),
        ("offsets/4", 5, START, START),
        ("offsets/3", 5, None, LAST_TWO),
        ("offsets/2", 5, None, None),
        ("offsets/6", 5, None, None),
        ("offsets/0", 1, START, START),
        ("offsets/0", 0, RANGE, None),
        # Rule 2.
        ("commits/4", 5, AGAIN, AGAIN),
        ("commits/0", 1, AGAIN, AGAIN),
        ("commits/3", 5, None, None),
        ("commits/5", 5, None, None),
        # Rule 3: 4.zip is the base of version 5.
        ("state/0/1/5.changelog", 5, NO_FILE, NO_FILE),
        ("state/0/1/4.changelog", 5, None, None),
        ("state/0/1/6.changelog", 5, None, None),
        ("state/0/0/SSTs/000004-0.sst", 5, NO_SST, NO_SST),
        ("state/0/0/SSTs/000004-0.sst", 3, None, None),
        ("state/0/0/SSTs/000004-0.sst", 8, None, None),
        ("state/0/1/", 5, NO_STORE, NO_STORE),
        ("state/0/1/", 0, None, None),
        # Hazard K.
        ("sources/0/0", 0, INITIAL, INITIAL),
        ("sources/0/0", 1, None, None),
    ],
)
def test_what_is_missing_makes_impossible_exactly_what_needs_it(
    gone: str, batch: int, replayed: list[str] | None, replanned: list[str] | None
) -> None:
    tree = without(draw("changelog"), gone)
    for verdict, why in ((replay(tree, batch), replayed), (replan(tree, batch), replanned)):
        assert verdict.possible == (why is None), verdict
        assert why is None or codes_in(verdict.why_not[0]) == why, verdict


def test_a_replan_of_batch_0_without_its_offsets_needs_nothing_of_the_log() -> None:
    tree = without(draw("changelog"), "offsets/0", "offsets/1", "commits/0")
    assert replan(tree, 0).possible


def test_changes_without_what_they_change_do_not_load() -> None:
    tree = without(draw("hdfs"), "state/0/0/5.delta")
    for batch in (6, 7):
        (why,) = replay(tree, batch).why_not
        assert (codes_in(why)[-1], param("version", why)) == ("base-missing", batch)
        assert why.text.endswith("version 6 holds only changes, and version 5, which they change, is gone")
    assert replay(tree, 8).possible  # from its snapshot
    assert replay(tree, 4).possible


@pytest.mark.parametrize(
    ("file", "batch"), [("state/0/0/4.zip", 5), ("state/0/1/5.changelog", 5), ("state/0/1/5.changelog", 7)]
)
def test_a_torn_file_does_not_load(file: str, batch: int) -> None:
    tree = draw("changelog") | {file: ""}
    (why,) = replan(tree, batch).why_not
    assert (codes_in(why)[-1], param("name", why)) == ("file-empty", file.rpartition("/")[2])


def test_an_older_base_does_not_stand_in_for_a_broken_one() -> None:
    """Spark takes the newest zip at or below the version, whatever it is worth."""
    tree = draw("changelog") | {"state/0/0/4.zip": "no list"}
    (why,) = replay(tree, 5).why_not
    assert codes_in(why)[-1] == "zip-torn"


def test_an_sst_of_another_size_is_torn() -> None:
    tree = draw("rocksdb") | {"state/0/1/SSTs/000005-1.sst": "s"}
    (why,) = replay(tree, 5).why_not
    assert codes_in(why)[-1] == "zip-size"
    assert (param("needed", why), param("wanted", why), param("found", why)) == ("SSTs/000005-1.sst", 3, 1)


def test_a_zip_needs_its_log_files_too() -> None:
    named = 'v1\n{"sstFiles":[],"logFiles":[{"dfsLogFileName":"7.log","sizeBytes":3}]}'
    tree = draw("rocksdb") | {"state/0/0/5.zip": named}
    (why,) = replay(tree, 5).why_not
    assert (codes_in(why)[-1], param("needed", why)) == ("zip-lacks", "logs/7.log")
    assert replay(tree | {"state/0/0/logs/7.log": "log"}, 5).possible


def test_each_store_of_a_join_counts() -> None:
    tree = without(draw("hdfs", stores=JOIN), f"state/0/1/{JOIN[2]}/5.delta")
    (why,) = replay(tree, 5).why_not
    assert (codes_in(why)[-1], param("store", why)) == ("version-missing", f"operator 0 partition 1 store {JOIN[2]}")
    tree = without(draw("hdfs", stores=JOIN), f"state/0/1/{JOIN[2]}/")
    (why,) = replay(tree, 5).why_not
    assert (codes_in(why)[1], param("partition", why), param("store", why)) == ("store-missing", 1, JOIN[2])


def test_format_2_takes_the_file_that_the_commit_names() -> None:
    name = f"state/0/0/5_{state_id(5)}.changelog"
    tree = without(draw("format-2"), name) | {"state/0/0/5_other.changelog": "of an attempt that failed"}
    (why,) = replay(tree, 5).why_not
    assert codes_in(why)[-1] == "version-other-id"
    assert (param("found", why), param("named", why)) == ("5_other.changelog", f"5_{state_id(5)}.*")
    assert replay(draw("format-2") | {"state/0/0/5_other.changelog": "of an attempt that failed"}, 5).possible


def test_format_2_below_the_oldest_commit_takes_what_is_there() -> None:
    tree = without(draw("format-2"), *(f"commits/{batch}" for batch in range(5)))
    assert replay(tree, 6).possible
    assert replan(without(tree, "state/0/0/SSTs/000004-0.sst"), 6).why_not


def test_a_query_that_changed_over_to_format_2_loads_its_older_versions() -> None:
    tree = draw("changelog", batches=range(5)) | {f"offsets/{n}": offsets(n) for n in (5, 6)}
    for batch in (5, 6):
        tree[f"commits/{batch}"] = commit(batch, has_ids=True)
        tree |= {f"state/0/{p}/{batch + 1}_{state_id(batch + 1, p)}.changelog": "changelog" for p in (0, 1)}
    assert all(replay(tree, batch).possible for batch in range(7))


def test_operator_metadata_must_be_of_before_the_batch_with_its_schema() -> None:
    tree = draw("changelog", v2=True)
    late = without(tree, "state/0/_metadata/v2/0") | {"state/0/_metadata/v2/4": tree["state/0/_metadata/v2/0"]}
    assert codes_in(*replay(late, 4).why_not) == ["operator-unknown"]
    assert replay(late, 5).possible
    schema = "state/0/_stateSchema/default/0_abc"
    (why,) = replay(without(tree, schema), 5).why_not
    assert (why.code, why.params["file"]) == ("schema-gone", schema)
    broken = draw("changelog") | {"state/0/_metadata/metadata": "v1\n{"}
    assert codes_in(*replay(broken, 5).why_not) == ["operator-unreadable"]


def test_before_spark_3_5_nothing_says_how_many_partitions_there_are() -> None:
    tree = without(draw("hdfs", partitions=3), "state/0/_metadata/metadata")
    assert replay(tree, 5).possible
    assert codes_in(*replay(without(tree, "state/0/1/"), 5).why_not) == NO_STORE


@pytest.mark.parametrize("text", ["", "v1", "v1\n{", "v3\n{}\n5", "garbage"])
def test_an_entry_that_cannot_be_read_is_not_there(text: str) -> None:
    assert codes_in(*replay(draw() | {"offsets/4": text}, 5).why_not) == ["entry-unreadable", "says-start"]
    assert codes_in(*replan(draw() | {"commits/4": text}, 5).why_not) == ["entry-unreadable", "runs-again"]


def test_a_replay_of_files_needs_the_log_that_names_them() -> None:
    tree = without(draw("hdfs", source="file"), "sources/0/5")
    (why,) = replay(tree, 5).why_not
    assert (why.code, why.params["entry"]) == ("source-entry-missing", 5)
    # A start reads the whole log from the newest compact entry on.
    assert not replay(tree, 6).possible
    assert replan(tree, 5).possible
    assert replay(tree | {"sources/0/5.compact": "v1"}, 5).possible


def test_a_source_that_is_read_twice_has_one_log() -> None:
    tree = draw("hdfs", source="file")
    tree |= {f"offsets/{n}": tree[f"offsets/{n}"] + f'\n{{"logOffset": {n}}}' for n in range(9)}
    assert all(replay(tree, batch).possible for batch in range(9))


def test_batches_that_do_not_exist_are_distinguished() -> None:
    tree = draw()
    assert codes_in(*replay(tree, 9).why_not) == ["not-planned"]
    assert replan(tree, 9).possible  # takes nothing back
    assert codes_in(*replan(tree, 10).why_not) == ["not-planned"]
    assert codes_in(*replay(tree, -1).why_not) == ["no-such-batch"]
    assert codes_in(*replay(draw(batches=()), 0).why_not) == ["never-planned"]


def test_an_unfinished_batch_can_be_replayed_and_replanned() -> None:
    tree = draw(committed=range(8))
    assert replay(tree, 8).possible
    assert replan(tree, 8).possible
    assert codes_in(*replan(tree, 9).why_not)[:2] == AGAIN


@pytest.mark.parametrize("file", ["offsets/9", "_rewind/journal.json"])
def test_nothing_is_possible_while_an_operation_is_unfinished(file: str) -> None:
    tree = draw() | {file: "v99999\nanabranch"}
    assert checkpoint_of(tree).newest == 8
    for batch in range(9):
        (why,) = replay(tree, batch).why_not
        assert (why.code, why.params["file"]) == ("unfinished", file)


def test_version_2_of_the_offset_log_is_possible_with_a_note() -> None:
    tree = draw() | {f"offsets/{n}": offsets(n, version=2) for n in range(9)}
    verdict = replay(tree, 5)
    assert verdict.possible
    assert codes_in(*verdict.notes) == ["offset-log-version-2"]
    assert replan(tree, 5) == Rewindability()


def test_how_far_back_one_can_go_is_where_retention_ends() -> None:
    kept = draw("hdfs", batches=range(20, 30))
    assert oldest_restartable(checkpoint_of(kept)) == 21  # by replay; a replan needs two entries before it
    assert not replan(kept, 21).possible
    assert replan(kept, 22).possible
    assert oldest_restartable(checkpoint_of(draw(batches=()))) is None


STATE_FILES = sorted(path for path in draw("hdfs", partitions=1) if path.startswith("state/0/0/"))


@settings(max_examples=300)
@given(st.sets(st.sampled_from(STATE_FILES)), st.integers(1, 9))
def test_a_version_loads_exactly_where_a_naive_reader_of_the_files_can_load_it(gone: set[str], batch: int) -> None:
    tree = without(draw("hdfs", partitions=1), *gone)

    def loads(version: int) -> bool:
        if version == 0 or f"state/0/0/{version}.snapshot" in tree:
            return True
        return f"state/0/0/{version}.delta" in tree and loads(version - 1)

    is_there = any(path.startswith("state/0/0/") for path in tree)
    assert judge_replan(checkpoint_of(tree), batch).possible == (loads(batch) and is_there)
