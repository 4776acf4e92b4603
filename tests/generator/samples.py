"""Records that the generator's tests share."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice

from anabranch.generator.recipe import Recipe
from anabranch.generator.visits import Made, visits

# Some records of every kind.
MIXED = Recipe(seed=7, late=0.05, out_of_order=0.05, duplicate=0.05, bad=0.05, future=0.05)


def make(recipe: Recipe, count: int) -> list[Made]:
    return list(islice(visits(recipe), count))


def event_time(made: Made) -> datetime:
    assert made.event_time is not None
    return datetime.fromisoformat(made.event_time)


def clock(made: Made) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=made.clock_us)
