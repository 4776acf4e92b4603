"""A checkpoint as a value: sources, operators, formats, the JSON; and that no garbage whatever makes it throw."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from anabranch.checkpoint.findings import findings
from anabranch.checkpoint.report import UNKNOWN, as_json, view_batch, view_horizon, view_operator
from anabranch.checkpoint.restartable import judge_replan, judge_replay
from anabranch.checkpoint.sources import SourceRange, source_range
from anabranch.cli.checkpoint_view import write_batch, write_checkpoint
from anabranch.text.format import human_bytes
from tests.support.drawing import JOIN, PROVIDERS, Tree, checkpoint_of, draw, offsets, without

KAFKA = '{"visits":{"0":12,"1":7}}'
AT_12_7 = {"visits": {"0": 12, "1": 7}}
DELTA = '{"sourceVersion":1,"reservoirId":"e0f0","reservoirVersion":3,"index":-1,"isStartingVersion":true}'


@pytest.mark.parametrize(
    ("end", "start", "initial", "is_first", "expected"),
    [
        (KAFKA, '{"visits":{"0":10,"1":7}}', None, False, ("kafka", {"visits": {"0": 10, "1": 7}}, AT_12_7, 2)),
        (KAFKA, None, '{"visits":{"0":2,"1":7}}', True, ("kafka", {"visits": {"0": 2, "1": 7}}, AT_12_7, 10)),
        (KAFKA, None, None, False, ("kafka", None, AT_12_7, None)),
        # A partition that is new is read from its first record.
        (KAFKA, '{"visits":{"0":12}}', None, False, ("kafka", {"visits": {"0": 12}}, AT_12_7, 7)),
        # Another topic under the same name.
        (KAFKA, '{"visits":{"0":99,"1":7}}', None, False, ("kafka", {"visits": {"0": 99, "1": 7}}, AT_12_7, None)),
        ('{"logOffset":7}', '{"logOffset":5}', None, False, ("file", 5, 7, None)),
        ('{"logOffset":0}', None, None, True, ("file", -1, 0, None)),
        ("12", "5", "1757606666015", False, ("rate", 5, 12, None)),
        ("12", None, "1757606666015", True, ("rate", 0, 12, None)),
        ('{"offset":30,"timestamp":9}', '{"offset":10,"timestamp":8}', None, False, ("rate", 10, 30, 20)),
        (DELTA, None, None, True, ("delta", None, {"version": 3, "index": -1}, None)),
        ("12", "5", None, False, ("unknown", 5, 12, None)),
        ('{"a":[1]}', None, None, True, ("unknown", None, {"a": [1]}, None)),
        ("not json", None, None, True, ("unknown", None, "not json", None)),
        (None, None, None, True, ("unknown", None, None, None)),
    ],
)  # fmt: skip
def test_the_offsets_of_a_source_say_what_was_read(
    end: str | None, start: str | None, initial: str | None, is_first: bool, expected: tuple[Any, ...]
) -> None:
    assert source_range(end, start, initial, is_first=is_first) == SourceRange(*expected)


def test_a_batch_is_shown_with_its_times_watermark_offsets_and_rows() -> None:
    batch = view_batch(checkpoint_of(draw()), 3)
    assert (batch.id, batch.planned_at, batch.watermark) == (3, "2025-09-11T16:05:11.015Z", "2025-09-11T16:04:56.015Z")
    assert (batch.committed, batch.rows) == (True, 15)
    first = view_batch(checkpoint_of(draw()), 0)
    assert first.rows == 15
    assert first.sources[0].start == {"visits": {"0": 0, "1": 0}}


def test_no_watermark_yet_is_none_and_a_time_that_no_calendar_has_too() -> None:
    tree = draw() | {"offsets/3": offsets(3, watermark_ms=0), "offsets/4": offsets(4, watermark_ms=10**18)}
    assert [view_batch(checkpoint_of(tree), n).watermark for n in (3, 4)] == [None, None]


@pytest.mark.parametrize(
    ("provider", "name", "format_version"),
    [
        ("hdfs", "HDFS-backed", 1),
        ("rocksdb", "RocksDB", 1),
        ("changelog", "RocksDB + changelog", 1),
        ("format-2", "RocksDB + changelog", 2),
    ],
)
def test_the_provider_is_guessed_from_the_files(provider: str, name: str, format_version: int) -> None:
    checkpoint = checkpoint_of(draw(provider, stores=JOIN, partitions=3))
    (operator,) = (view_operator(checkpoint, one) for one in checkpoint.operators)
    assert (operator.provider, operator.stores, operator.partitions) == (name, sorted(JOIN), 3)
    assert (operator.name, operator.versions) == ("stateStoreSave", (1, 9))
    assert as_json(checkpoint)["formats"]["state"] == format_version


def test_versions_are_those_that_every_store_holds() -> None:
    tree = without(draw("hdfs"), "state/0/0/1.delta", "state/0/0/2.delta", "state/0/1/9.delta")
    checkpoint = checkpoint_of(tree)
    assert view_operator(checkpoint, checkpoint.operators[0]).versions == (3, 8)


def test_the_json_is_exactly_as_promised() -> None:
    found = as_json(checkpoint_of(draw("hdfs", batches=range(3)) | {"offsets/.3.crc": "x"}))
    assert list(found) == ["path", "query_id", "formats", "newest_batch", "batches", "operators", "findings"]
    assert found["formats"] == {"offsets": 1, "commits": 1, "state": 1}
    assert found["newest_batch"] == 2
    assert found["batches"][1] == {
        "id": 1,
        "planned_at": "2025-09-11T16:04:41.015Z",
        "watermark": "2025-09-11T16:04:26.015Z",
        "committed": True,
        "sources": [
            {"kind": "kafka", "start": {"visits": {"0": 10, "1": 5}}, "end": {"visits": {"0": 20, "1": 10}}, "rows": 15}
        ],
        "replay": {"possible": True, "why_not": None, "reasons": []},
        "replan": {"possible": True, "why_not": None, "reasons": []},
    }
    assert found["operators"] == [
        {
            "id": 0,
            "name": "stateStoreSave",
            "provider": "HDFS-backed",
            "stores": ["default"],
            "partitions": 2,
            "versions": [1, 3],
        }
    ]
    assert [list(one) for one in found["findings"]] == [["code", "file", "what", "remedy", "params"]]


def test_how_far_back_is_told_in_time_and_bytes() -> None:
    horizon = view_horizon(checkpoint_of(draw("hdfs", batches=range(20, 30))))
    assert horizon is not None
    assert (horizon.batch, horizon.span_ms) == (21, 8 * 15_000)
    assert horizon.state_bytes > 0


def test_a_fence_is_no_batch() -> None:
    checkpoint = checkpoint_of(draw() | {"offsets/9": "v99999\n{}"})
    assert (checkpoint.newest, checkpoint.fence, checkpoint.next_batch) == (8, "offsets/9", 9)


def test_only_numbers_are_batches() -> None:
    strange = {"offsets/007": "x", "offsets/-1": "x", "offsets/٣": "x", "offsets/1e3": "x", "offsets/" + "9" * 30: "x"}
    assert checkpoint_of(draw() | strange).batches == list(range(9))


@pytest.mark.parametrize(("count", "text"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (25_000_000, "25 MB")])
def test_sizes_are_readable(count: int, text: str) -> None:
    assert human_bytes(count) == text


GOOD = [
    draw(provider, v2=v2, stores=stores) for provider in PROVIDERS for v2 in (False, True) for stores in (("default",), JOIN)
]
NAMES = st.sampled_from(
    [
        *("offsets/8", "offsets/9", "offsets/999999999999999999", "commits/12", "state/0/0/5.zip", "state/7/0/1.delta"),
        *("state/0/0/7_x.zip", "state/0/_metadata/metadata", "state/0/_metadata/v2/3", "sources/0/0", "sources/5/3"),
        *("_rewind/journal", "state/0/99999999999/1.delta", "state/x/0/1.delta", "metadata", ".x.tmp", "state/0/0/0.delta"),
    ]
)
GARBAGE = st.one_of(
    st.text(max_size=60),
    st.sampled_from(
        [
            *("v1\n{}", "v1\n[]", "v2\n{}\n:", "v1\n{}\n-", 'v1\n{"batchTimestampMs":1e999}', 'v1\n{"conf":{"a":null}}\n"x"'),
            *('v2\n{"stateUniqueIds":{"0":[null]}}', 'v2\n{"stateUniqueIds":{"0":[["a"],7]}}', 'v2\n{"stateUniqueIds":[1]}'),
            *('v1\n{"sstFiles":[1]}', 'v1\n{"sstFiles":{"a":1}}', 'v1\n{"sstFiles":[{"dfsSstFileName":null}]}', "[" * 5000),
            *('v1\n{}\n{"visits":{"0":1e400}}', 'v1\n{}\n{"logOffset":99999999999999999999}', 'v1\n{}\n{"logOffset":null}'),
            *('v1\n{}\n{"reservoirVersion":{}}', 'v1\n{}\n{"offset":"x","timestamp":[]}', "v1\n{}\n" + "9" * 5000, "\x1b[2J"),
            *('v1\n{"batchTimestampMs":-5}\n{"a\\u001b[31m":{"0":1}}', 'v1\n{"operatorInfo":{},"stateStoreInfo":[]}', "v99999"),
            'v1\n{"operatorInfo":{"operatorName":[]},"stateStoreInfo":[{"storeName":1,"numPartitions":"3"}]}',
        ]
    ),
)


@st.composite
def spoiled(draw_from: st.DrawFn) -> Tree:
    tree = dict(draw_from(st.sampled_from(GOOD)))
    for _ in range(draw_from(st.integers(1, 8))):
        victim = draw_from(st.sampled_from(sorted(tree))) if tree else "offsets/0"
        match draw_from(st.sampled_from(["gone", "cut", "garbage", "new", "moved"])):
            case "gone":
                tree.pop(victim, None)
            case "cut":
                tree[victim] = tree.get(victim, "")[: draw_from(st.integers(0, 200))]
            case "garbage":
                tree[victim] = draw_from(GARBAGE)
            case "new":
                tree[draw_from(NAMES)] = draw_from(GARBAGE)
            case _:
                tree[draw_from(NAMES)] = tree.pop(victim, "")
    return tree


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(tree=spoiled(), batch=st.integers(-2, 12))
def test_garbage_of_any_kind_gives_findings_and_never_throws(
    tree: Tree, batch: int, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint = checkpoint_of(tree)
    found = as_json(checkpoint)
    json.dumps(found)
    for verdict in (judge_replay(checkpoint, batch), judge_replan(checkpoint, batch)):
        assert verdict.possible == (not verdict.why_not)
    write_checkpoint(checkpoint, findings(checkpoint), UNKNOWN, every=False)
    write_checkpoint(checkpoint, findings(checkpoint), UNKNOWN, every=True)
    write_batch(checkpoint, batch, findings(checkpoint, [batch]), UNKNOWN)
    shown = capsys.readouterr().out
    assert all(char.isprintable() or char in "\n\t" for char in shown)
