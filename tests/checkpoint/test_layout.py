"""Spark's offset and commit logs as values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.checkpoint.layout import CommitEntry, parse_commit, parse_kafka_offsets, parse_offsets

SEED_001 = (
    'v1\n{"batchWatermarkMs":0,"batchTimestampMs":1757606666015,"conf":{"spark.sql.shuffle.partitions":"2"}}\n'
    '{"visits":{"0":0,"1":3}}'
)


def test_the_entry_that_seed_001_shows_is_read() -> None:
    entry = parse_offsets(SEED_001)
    assert entry is not None
    assert (entry.watermark_ms, entry.timestamp_ms, entry.conf["spark.sql.shuffle.partitions"]) == (
        0,
        1757606666015,
        "2",
    )
    assert parse_kafka_offsets(entry.sources[0]) == {"visits": {0: 0, 1: 3}}


def test_a_source_without_offsets_yet_is_none_and_version_2_names_its_sources() -> None:
    first = parse_offsets("v1\n{}\n-\n5")
    assert first is not None
    assert first.sources == (None, "5")
    second = parse_offsets('v2\n{}\n0:{"visits":{"0":1}}')
    assert second is not None
    assert parse_kafka_offsets(second.sources[0]) == {"visits": {0: 1}}


def test_a_commit_is_read() -> None:
    assert parse_commit('v1\n{"nextBatchWatermarkMs":7}') == CommitEntry(7)


@pytest.mark.parametrize("text", ["", "v1", "v1\n", "v1\n[]", "v99999\n{}", 'v1\n{"batchWatermarkMs":"x"}', 'v1\n{"conf":[1]}'])
def test_what_is_no_entry_is_none(text: str) -> None:
    assert parse_offsets(text) is None


@given(st.text())
def test_no_text_whatever_makes_a_parser_throw(text: str) -> None:
    for candidate in (text, f"v1\n{text}", f"v1\n{{}}\n{text}", f"v2\n{{}}\n{text}"):
        entry = parse_offsets(candidate)
        for source in entry.sources if entry else ():
            parse_kafka_offsets(source)
        parse_commit(candidate)
