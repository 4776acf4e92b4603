"""Which value is over-represented among late records: of a partition, of a field. Pure.

Nothing is said where the numbers are too small to say it: a value is named where chance alone would give so many, or more, in
less than one of twenty audits, all values that were looked at together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, lgamma, log
from typing import TypeVar

from anabranch.audit.verdict import Concentration

T = TypeVar("T", int, str)

# Of fewer late records nothing is said.
FEWEST = 5
_LEAST_FACTOR = 1.5
_CHANCE = 0.05
# A field with more values than this among the late records is no group of anything.
_MOST_VALUES = 50
_MOST_NAMED = 3
# So many values of a field are compared with all records: the most frequent one may be as frequent everywhere.
_MOST_COMPARED = 5


@dataclass(frozen=True)
class Candidate:
    """A value that several of the late records have that were looked at."""

    field: str
    value: str
    late: int
    of_late: int


def candidates(late: Iterable[Mapping[str, str | None]]) -> list[Candidate]:
    """Of each field that puts the late records into groups. A record's field is a text, or None."""
    values: dict[str, Counter[str]] = {}
    records = 0
    for record in late:
        records += 1
        for name, value in record.items():
            if value is not None:
                values.setdefault(name, Counter())[value] += 1
    found = []
    for name, counter in values.items():
        if records >= FEWEST and len(counter) <= min(_MOST_VALUES, records // 2):
            found += [Candidate(name, value, count, records) for value, count in most_frequent(counter)]
    return found


def most_frequent(counter: Mapping[T, int]) -> list[tuple[T, int]]:
    """The values to compare, the most frequent first. One that is there once is no group."""
    several = [(value, count) for value, count in sorted(counter.items()) if count >= 2]
    return sorted(several, key=lambda one: -one[1])[:_MOST_COMPARED]


def concentrations(looked_at: Sequence[tuple[Candidate, int, int]]) -> tuple[Concentration, ...]:
    """Of each field the most over-represented value that chance does not explain.

    With each candidate: how many of all records have its value, and of how many.
    """
    named: dict[str, Concentration] = {}
    for one, having, of_all in looked_at:
        if one.of_late < FEWEST or not 0 < having < of_all:
            continue
        share = having / of_all
        found = Concentration(one.field, one.value, one.late, one.of_late, share)
        if found.factor >= _LEAST_FACTOR and chance(one.late, one.of_late, share) * len(looked_at) < _CHANCE:
            known = named.get(one.field)
            named[one.field] = found if known is None or found.factor > known.factor else known
    return tuple(sorted(named.values(), key=lambda one: (-one.factor, one.field))[:_MOST_NAMED])


def chance(at_least: int, of: int, share: float) -> float:
    """Of so many or more among `of` drawn ones: the upper tail of the binomial distribution."""
    total = 0.0
    for count in range(at_least, of + 1):
        ways = lgamma(of + 1) - lgamma(count + 1) - lgamma(of - count + 1)
        term = exp(ways + count * log(share) + (of - count) * log(1 - share))
        total += term
        # Above the expected number the terms fall: what follows no longer counts.
        if count > of * share and term < total * 1e-9:
            break
    return min(1.0, total)
