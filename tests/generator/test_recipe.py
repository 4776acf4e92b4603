"""Recipes and paces: what is accepted, what is rejected, and what a pace allows when."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.errors import Misused
from anabranch.generator.pace import Pace
from anabranch.generator.recipe import Recipe, parse_share


@given(st.integers(0, 100))
def test_a_share_may_be_written_as_a_percentage_or_as_a_fraction(percent: int) -> None:
    assert parse_share(f"{percent}%") == parse_share(f" {percent} % ") == parse_share(str(percent / 100))


@given(st.text())
def test_any_text_is_parsed_to_a_share_or_rejected(text: str) -> None:
    with suppress(Misused):
        assert 0 <= parse_share(text) <= 1


@pytest.mark.parametrize("text", ["", "%", "101%", "-5%", "nan", "inf", "1e-2", "five", "1_0%", "101"])
def test_a_malformed_share_is_rejected(text: str) -> None:
    with pytest.raises(Misused) as error:
        parse_share(text)
    assert error.value.code == "share-malformed"


@pytest.mark.parametrize("text", ["5", "1.01", "100"])
def test_a_number_above_one_is_rejected_with_the_percentage_that_was_probably_meant(text: str) -> None:
    with pytest.raises(Misused) as error:
        parse_share(text)
    assert error.value.code == "share-not-percent"
    assert f"{text}%" in error.value.remedies[0]


@pytest.mark.parametrize(
    ("make_invalid", "code"),
    [
        (lambda: Recipe(late=0.6, bad=0.5), "shares-exceed-one"),
        (lambda: Recipe(late=-0.1), "share-out-of-range"),
        (lambda: Recipe(bad=float("nan")), "share-out-of-range"),
        (lambda: Recipe(seed=-1), "seed-negative"),
        (lambda: Recipe(start=datetime(2025, 9, 4)), "start-without-zone"),  # noqa: DTZ001
        (lambda: Recipe(start=datetime(1970, 1, 1, tzinfo=UTC)), "start-out-of-range"),
        (lambda: Recipe(spacing_s=0), "spacing-out-of-range"),
        (lambda: Recipe(spacing_s=float("nan")), "spacing-out-of-range"),
        (lambda: Recipe(visitors=0), "visitors-out-of-range"),
        (lambda: Pace(rate_per_s=0), "rate-not-positive"),
        (lambda: Pace(rate_per_s=float("nan")), "rate-not-positive"),
        (lambda: Pace(count=-1), "count-negative"),
        (lambda: Pace(duration_s=-1), "sending-time-invalid"),
    ],
)
def test_an_invalid_recipe_or_pace_is_rejected(make_invalid: Callable[[], object], code: str) -> None:
    with pytest.raises(Misused) as error:
        make_invalid()
    assert error.value.code == code
    # Infinity and NaN are not JSON.
    json.dumps(error.value.reason.as_json(), allow_nan=False)


def test_shares_whose_sum_exceeds_one_only_by_rounding_are_accepted() -> None:
    assert sum(Recipe(late=0.1, out_of_order=0.2, duplicate=0.7).shares().values()) == pytest.approx(1)


def test_a_rate_catches_up_after_a_delay() -> None:
    pace = Pace(rate_per_s=100, count=250)
    assert pace.due(sent=0, elapsed_s=0.0) == 1
    assert pace.due(sent=1, elapsed_s=0.001) == 0
    assert pace.next_due_s(sent=1, elapsed_s=0.001) == pytest.approx(0.009)
    assert pace.due(sent=1, elapsed_s=2.0) == 200
    assert pace.due(sent=201, elapsed_s=60.0) == 49
    assert pace.due(sent=250, elapsed_s=60.0) is None


def test_a_duration_ends_sending_and_without_a_rate_records_are_always_due() -> None:
    pace = Pace(duration_s=5)
    assert pace.due(sent=0, elapsed_s=4.9) == pace.due(sent=10**9, elapsed_s=4.9) != 0
    assert pace.due(sent=10, elapsed_s=5.0) is None
    assert Pace(count=0).due(sent=0, elapsed_s=0.0) is None
