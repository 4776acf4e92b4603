"""The generated records: reproducible, ordered, and of the kinds and shares that the recipe asks for."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from anabranch.generator.recipe import KINDS, Recipe
from anabranch.generator.spoil import spoil
from anabranch.generator.visits import FAULTS
from tests.generator.samples import MIXED, clock, event_time, facts, make

FIELDS = ("event_id", "visit_id", "user_id", "event_time", "page", "browser")


def test_the_first_thousand_records_of_a_seed_are_the_same_on_every_python() -> None:
    # If this digest changes, every seed gives other records than before: that needs an entry in the changelog.
    digest = hashlib.sha256(b"".join(made.key + b"\n" + made.value + b"\n" for made in make(MIXED, 1000)))
    assert digest.hexdigest() == "beec215c3eff4571abc0c4499db8116ae48bc33720100f79c11fb15bbe8a24f2"


def test_the_same_recipe_gives_the_same_records_and_another_seed_gives_different_ones() -> None:
    assert make(MIXED, 500) == make(MIXED, 500)
    ours, theirs = ({made.value for made in make(Recipe(seed=seed), 500)} for seed in (1, 2))
    assert not ours & theirs


def test_a_value_is_json_with_the_fields_of_the_record_and_its_key_is_the_visit() -> None:
    for made in make(MIXED, 2000):
        if made.kind != "bad":
            assert json.loads(made.value) == facts(made)
            assert tuple(facts(made)) == FIELDS
            assert made.key.decode() == facts(made)["visit_id"]


def test_good_records_are_in_the_order_of_their_event_times_beginning_at_the_start() -> None:
    start = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
    times = [event_time(made) for made in make(Recipe(start=start, spacing_s=2), 1000)]
    assert times == sorted(times)
    assert start <= times[0] < start + timedelta(seconds=2)
    assert start + timedelta(seconds=1998) <= times[-1] < start + timedelta(seconds=2000)


def test_the_same_start_in_another_zone_gives_the_same_records() -> None:
    east = datetime.fromisoformat("2025-09-04T09:00:00+02:00")
    assert make(Recipe(start=east), 50) == make(Recipe(start=east.astimezone(UTC)), 50)


@pytest.mark.parametrize(
    ("kind", "least", "most"),
    [
        ("good", timedelta(0), timedelta(0)),
        ("out-of-order", timedelta(minutes=-5), timedelta(seconds=-5)),
        ("late", timedelta(hours=-6), timedelta(minutes=-30)),
        ("future", timedelta(days=36_500), timedelta(days=73_000)),
    ],
)
def test_each_kind_has_its_distance_from_the_event_clock(kind: str, least: timedelta, most: timedelta) -> None:
    distances = [event_time(made) - clock(made) for made in make(MIXED, 3000) if made.kind == kind]
    assert distances
    assert least <= min(distances) <= max(distances) <= most


def test_a_duplicate_repeats_an_earlier_good_record_byte_for_byte() -> None:
    good: set[tuple[bytes, bytes]] = set()
    for made in make(MIXED, 3000):
        assert made.kind != "duplicate" or (made.key, made.value) in good
        if made.kind == "good":
            good.add((made.key, made.value))


def test_only_duplicates_repeat_an_event_id() -> None:
    ids = Counter(facts(made)["event_id"] for made in make(MIXED, 3000) if made.kind not in ("duplicate", "bad"))
    assert set(ids.values()) == {1}


def test_each_kind_has_the_share_that_was_asked_for_and_the_other_records_are_good() -> None:
    count = 20_000
    kinds = Counter(made.kind for made in make(MIXED, count))
    assert set(kinds) == set(KINDS)
    for kind, share in MIXED.shares().items():
        assert kinds[kind] / count == pytest.approx(share, abs=0.006)


def test_all_records_can_be_of_one_kind_but_a_duplicate_needs_a_good_record_before_it() -> None:
    assert {made.kind for made in make(Recipe(bad=1), 200)} == {"bad"}
    assert [made.kind for made in make(Recipe(duplicate=1), 3)] == ["good", "duplicate", "duplicate"]
    assert Counter(made.kind for made in make(Recipe(duplicate=0.5, late=0.5), 50))["good"] == 1


def test_visits_have_several_pages_one_user_and_one_browser() -> None:
    pages: dict[bytes, list[dict[str, str]]] = {}
    for made in make(Recipe(visitors=20), 4000):
        pages.setdefault(made.key, []).append(facts(made))
    assert len(pages) > 200
    finished = sorted(pages.values(), key=len)[20:]  # up to 20 visits are still open
    assert all(2 <= len(visit) <= 31 for visit in finished)
    assert all(len({(page["user_id"], page["browser"]) for page in visit}) == 1 for visit in pages.values())
    assert {visit[0]["page"] for visit in pages.values()} == {"index", "home", "main"}
    assert len({visit[0]["browser"] for visit in pages.values()}) == 4


def test_every_way_to_spoil_a_value_leaves_no_usable_event() -> None:
    (made,) = make(Recipe(), 1)
    spoiled = {spoil(made.value, FAULTS, n / 100).value for n in range(100)}
    assert len(spoiled) == 17
    assert not [value for value in spoiled if is_usable(value)]


def is_usable(value: bytes) -> bool:
    try:
        event = json.loads(value.decode())
        year = datetime.fromisoformat(event["event_time"]).year
    except (ValueError, TypeError, KeyError):
        return False
    return len(event["event_time"]) > len("2025-09-04") and 1970 <= year <= 9998


def test_a_bad_record_has_the_fields_that_can_be_read() -> None:
    known = [facts(made) for made in make(Recipe(bad=1), 200)]
    assert {tuple(one) for one in known} == {FIELDS}
    assert {(one["visit_id"] is not None, one["event_time"] is not None) for one in known} == {(True, False), (False, False)}
