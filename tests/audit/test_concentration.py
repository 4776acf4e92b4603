"""Which value late records have in common: nothing is said where the numbers are too small to say it. Pure."""

from __future__ import annotations

from fractions import Fraction
from math import comb, isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.audit.concentration import Candidate, candidates, chance, concentrations


def exact(at_least: int, of: int, share: Fraction) -> Fraction:
    """The upper tail of the binomial distribution, without rounding."""
    ways = (comb(of, count) * share**count * (1 - share) ** (of - count) for count in range(at_least, of + 1))
    return sum(ways, Fraction(0))


@given(st.integers(0, 60), st.integers(0, 60), st.fractions(Fraction(1, 1000), Fraction(999, 1000), max_denominator=1000))
def test_the_chance_is_the_exact_tail(one: int, other: int, share: Fraction) -> None:
    at_least, of = sorted((one, other))
    assert isclose(chance(at_least, of, float(share)), exact(at_least, of, share), rel_tol=1e-6, abs_tol=1e-300)


@pytest.mark.parametrize("of", [10_000, 1_000_000])
def test_the_chance_of_many_is_a_number(of: int) -> None:
    """About half of all draws have the expected number or more; none has twice as many."""
    assert 0.49 < chance(of // 2, of, 0.5) < 0.52
    assert chance(of, of, 0.5) == 0.0


def named(*looked_at: tuple[Candidate, int, int]) -> list[str]:
    return [f"{one.field} {one.value}" for one in concentrations(looked_at)]


def test_seven_of_eight_where_four_of_ten_are_expected_is_named_with_its_factor() -> None:
    (found,) = concentrations([(Candidate("partition", "2", 7, 8), 42, 100)])
    assert (found.field, found.value, found.late, found.of_late, found.share_of_all) == ("partition", "2", 7, 8, 0.42)
    assert round(found.factor, 3) == 2.083


@pytest.mark.parametrize(
    ("candidate", "having", "of_all", "why"),
    [
        (Candidate("partition", "0", 4, 4), 10, 100, "four records say nothing, whatever they share"),
        (Candidate("browser", "Safari", 3, 5), 40, 100, "chance gives as many in one of three audits"),
        (Candidate("browser", "Safari", 50, 100), 40, 100, "it is hardly more than of all"),
        (Candidate("browser", "Safari", 20, 100), 40, 100, "it is less than of all"),
        (Candidate("browser", "Safari", 9, 9), 100, 100, "all have it"),
        # It is in a window that the lake has no longer.
        (Candidate("browser", "Safari", 9, 9), 0, 100, "none is known to have it"),
        (Candidate("browser", "Safari", 9, 9), 0, 0, "there are none"),
    ],
)
def test_nothing_is_said_where(candidate: Candidate, having: int, of_all: int, why: str) -> None:
    assert named((candidate, having, of_all)) == [], why


def test_the_more_is_looked_at_the_rarer_it_must_be() -> None:
    """Of twenty fields one is found in most audits that chance alone makes once in twenty."""
    rare = (Candidate("browser", "Safari", 5, 5), 50, 100)
    assert 0.025 < chance(5, 5, 0.5) < 0.05
    assert named(rare) == ["browser Safari"]
    assert named(rare, (Candidate("page", "/", 3, 5), 50, 100)) == []


def test_the_three_most_over_represented_are_named_the_strongest_first() -> None:
    looked_at = [(Candidate(f"field {share}", "x", 90, 100), share, 100) for share in (50, 10, 40, 20)]
    assert named(*looked_at) == ["field 10 x", "field 20 x", "field 40 x"]


def test_candidates_are_the_most_frequent_values_of_fields_that_put_records_into_groups() -> None:
    """A value that is there once is none, nor is a field with hardly two records of one value."""
    records = [{"browser": "Safari" if n < 7 else f"Firefox {n // 9}", "id": str(n), "none": None} for n in range(10)]
    assert candidates(records) == [Candidate("browser", "Safari", 7, 10), Candidate("browser", "Firefox 0", 2, 10)]
    assert candidates([{"one": "same"}] * 10) == [Candidate("one", "same", 10, 10)]


def test_of_few_records_no_candidate_is_named() -> None:
    assert candidates([{"browser": "Safari"}] * 4) == []
    assert candidates([{"browser": "Safari"}] * 5) == [Candidate("browser", "Safari", 5, 5)]
    assert candidates([]) == []


def test_a_value_that_is_less_frequent_than_another_is_named_where_it_is_rarer_among_all() -> None:
    """Most late records are of the browser that most records are of; what is remarkable is the other one."""
    common, rare = Candidate("browser", "Chrome", 60, 100), Candidate("browser", "Safari", 40, 100)
    assert named((common, 90, 100), (rare, 10, 100)) == ["browser Safari"]


def test_of_a_field_only_the_most_over_represented_value_is_named() -> None:
    one, other = Candidate("browser", "Opera", 30, 100), Candidate("browser", "Safari", 40, 100)
    assert named((other, 20, 100), (one, 10, 100)) == named((one, 10, 100), (other, 20, 100)) == ["browser Opera"]


def test_two_audits_of_the_same_records_look_at_the_same_values_in_the_same_order() -> None:
    records = [{"browser": name} for name in ("Safari", "Chrome") * 3]
    assert candidates(records) == candidates(records[::-1])
    assert [one.value for one in candidates(records)] == ["Chrome", "Safari"]
