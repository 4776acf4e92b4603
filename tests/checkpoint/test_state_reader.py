"""Keys and values of real state, as `checkpoint --state` reads them: every kind of operator and provider."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from anabranch.checkpoint.state_reader import read_state
from tests.support.queries import FILES, STATEFUL, Query

pytestmark = pytest.mark.spark

KEYS = {"a", "b", "c", *(f"only-{number}" for number in range(FILES))}


@pytest.mark.parametrize("name", [name for name in STATEFUL if name != "join"])
def test_every_key_is_there_with_what_was_counted(name: str, made: Callable[[str], Query]) -> None:
    query = made(name)
    entries = read_state(query.spark, str(query.checkpoint), FILES - 1)
    found = {next(iter(entry.key.values())): entry.value for entry in entries}
    assert set(found) == KEYS
    counts = {key: next(value for place, value in held.items() if place in ("n", "count")) for key, held in found.items()}
    assert counts == {key: FILES if key in "abc" else 1 for key in KEYS}


def test_an_earlier_batch_has_its_own_state(made: Callable[[str], Query]) -> None:
    query = made("changelog")
    found = {entry.key["k"] for entry in read_state(query.spark, str(query.checkpoint), FILES - 2)}
    # The key that the last file alone has: which file that is, Spark chooses.
    assert found < KEYS
    assert len(KEYS - found) == 1


def test_a_join_shows_both_sides(made: Callable[[str], Query]) -> None:
    query = made("join")
    entries = list(read_state(query.spark, str(query.checkpoint), FILES - 1))
    assert {entry.store for entry in entries} == {"left", "right"}
    assert len(entries) == 2 * 4 * FILES
