"""Records that the generator's tests share."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

from anabranch.generator.recipe import Recipe
from anabranch.generator.timeline import Made
from anabranch.generator.visits import visits

# Some records of every kind.
MIXED = Recipe(seed=7, late=0.05, out_of_order=0.05, duplicate=0.05, bad=0.05, future=0.05)


def make(recipe: Recipe, count: int) -> list[Made]:
    return list(islice(visits(recipe), count))


def facts(made: Made) -> dict[str, Any]:
    """What the ledger says of it."""
    read: dict[str, Any] = json.loads(made.value if made.facts is None else f"{{{made.facts}}}")
    return read


def event_time(made: Made) -> datetime:
    return datetime.fromisoformat(facts(made)["event_time"])


def clock(made: Made) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=made.clock_us)
