"""What is wrong with one result, by what was emitted, should be, was counted and was known. Pure."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.audit.judge import Class, judge, same
from anabranch.reprocess.plan import Compared

THREE, FIVE, SIX = '{"count":3}', '{"count":5}', '{"count":6}'


@pytest.mark.parametrize(
    ("emitted", "should_be", "counted", "found"),
    [
        (FIVE, FIVE, FIVE, "equal"),
        # Records were late, and came to be counted after all.
        (FIVE, FIVE, THREE, "equal"),
        (None, None, None, "equal"),
        (THREE, FIVE, THREE, "late"),
        # All records of the result were late: the stream had none to emit it from.
        (None, FIVE, None, "late"),
        (None, FIVE, FIVE, "missing"),
        # Late records do not explain it: the others would have made a result.
        (None, FIVE, THREE, "missing"),
        (FIVE, None, None, "unexpected"),
        # Late records have taken a result away, as a transformation may that keeps what is rare.
        (FIVE, None, FIVE, "late"),
        (SIX, FIVE, FIVE, "different"),
        (SIX, FIVE, THREE, "different"),
        # A text that is not JSON is compared as a text.
        ("five", "five", "five", "equal"),
        ("five", "six", "six", "different"),
        ("", None, None, "unexpected"),
    ],
)
def test_a_result_of_the_stream_is_judged(
    emitted: str | None, should_be: str | None, counted: str | None, found: Class
) -> None:
    assert judge(Compared("key", 0, emitted, should_be, counted, known=SIX, origin="stream")) == found


@pytest.mark.parametrize(
    ("emitted", "should_be", "known", "found"),
    [
        (FIVE, FIVE, FIVE, "corrected"),
        (FIVE, FIVE, THREE, "corrected"),
        # Records came behind the correction: it sent what it knew.
        (THREE, FIVE, THREE, "late"),
        (THREE, FIVE, FIVE, "different"),
        # What it knew is not known: nothing explains the difference.
        (THREE, FIVE, None, "different"),
        (THREE, None, None, "unexpected"),
        # A result that was taken back by hand is explained by nothing that the operation knew.
        (None, FIVE, FIVE, "missing"),
    ],
)
def test_a_result_of_an_operation_is_judged_by_what_that_knew(
    emitted: str | None, should_be: str | None, known: str | None, found: Class
) -> None:
    """Not by what the stream has counted."""
    one = Compared("key", 0, emitted, should_be, counted=emitted, known=known, origin="reprocess", operation="id")
    assert judge(one) == found


@pytest.mark.parametrize(
    ("one", "other", "tolerance", "is_same"),
    [
        # Without a tolerance text by text: nothing is read into a result.
        ('{"a":1.0}', '{"a":1.00}', 0.0, False),
        ('{"a":1.0}', '{"a":1.00}', 1e-9, True),
        ('{"a":1.0}', '{"a":1}', 1e-9, True),
        ('{"a":100.0}', '{"a":100.9}', 0.01, True),
        ('{"a":100.0}', '{"a":101.1}', 0.01, False),
        ('{"a":-100.0}', '{"a":100.0}', 0.01, False),
        # Relative to the greater: nothing is close to 0 but 0.
        ('{"a":0.0}', '{"a":1e-300}', 0.5, False),
        ('{"a":0.0}', '{"a":-0.0}', 1e-9, True),
        # Whole numbers, texts and truth are exact, however close.
        ('{"a":1000000}', '{"a":1000001}', 0.01, False),
        ('{"a":"1.0"}', '{"a":"1.00"}', 0.01, False),
        ('{"a":true}', '{"a":1}', 0.01, False),
        ('{"a":true}', '{"a":1.0}', 0.01, False),
        ('{"a":null}', '{"a":0.0}', 0.01, False),
        # A greater whole number than a float can hold.
        ('{"a":9007199254740993}', '{"a":9007199254740992}', 0.5, False),
        ('{"a":{"b":[1.0,{"c":2.0}]}}', '{"a":{"b":[1.001,{"c":2.001}]}}', 0.01, True),
        ('{"a":{"b":[1.0,{"c":2.0}]}}', '{"a":{"b":[1.001,{"c":3.0}]}}', 0.01, False),
        ('{"a":[1.0]}', '{"a":[1.0,1.0]}', 0.01, False),
        ('{"a":1.0}', '{"a":1.0,"b":1.0}', 0.01, False),
        ('{"a":1.0,"b":2.0}', '{"b":2.0,"a":1.0}', 0.01, True),
        ('{"a":1.0}', "[1.0]", 0.01, False),
        # Spark writes what is no number as a text.
        ('{"a":"NaN","b":1.0}', '{"a":"NaN","b":1.001}', 0.01, True),
        ('{"a":"NaN"}', '{"a":1.0}', 0.01, False),
        ("1.0", "not JSON", 0.01, False),
        ("not JSON", "not JSON", 0.01, True),
        ("[" * 100_000, "1.0", 0.01, False),
        (None, '{"a":1.0}', 0.01, False),
        (None, None, 0.01, True),
    ],
)
def test_only_floats_may_differ_within_the_tolerance(
    one: str | None, other: str | None, tolerance: float, is_same: bool
) -> None:
    assert same(one, other, tolerance) is is_same
    assert same(other, one, tolerance) is is_same


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)


@given(JSON, JSON)
def test_without_floats_a_tolerance_changes_nothing(one: Any, other: Any) -> None:
    first, second = json.dumps(one, sort_keys=True), json.dumps(other, sort_keys=True)
    assert same(first, second, 0.5) == (first == second)


@given(st.floats(1e-100, 1e100), st.floats(0.0, 0.5), st.floats(1e-12, 0.4))
def test_the_tolerance_is_of_the_greater_of_the_two(value: float, off: float, tolerance: float) -> None:
    less = value * (1 - off)
    if math.isclose(off, tolerance, rel_tol=1e-3):
        return
    assert same(json.dumps([value]), json.dumps([less]), tolerance) == (off < tolerance or less == value)


def test_an_operation_is_judged_late_within_the_tolerance_too() -> None:
    one = Compared("key", 0, '{"a":1.0}', '{"a":2.0}', counted='{"a":1.001}')
    assert [judge(one), judge(one, 0.01)] == ["different", "late"]
