"""Events of any schema: reproducible, of the schema's types, and broken in the ways that the decoder knows."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from datetime import date, datetime
from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.generator.events import events, faults_of, key_field
from anabranch.generator.recipe import KINDS, Recipe
from anabranch.generator.timeline import Made
from anabranch.pipeline.schema import Array, Decimal, Field, Map, Scalar, Struct, Type
from anabranch.pipeline.topic import Topic, define_topic
from tests.generator.samples import MIXED, clock, event_time, facts
from tests.support.schemas import schemas

ORDERS = define_topic(
    "orders",
    schema="order_id STRING NOT NULL, customer STRING NOT NULL, amount DECIMAL(12,2), placed_at TIMESTAMP NOT NULL",
    event_time="placed_at",
)
CLICKS = define_topic(
    "shop.clicks",
    schema="""ts TIMESTAMP, user_id BIGINT, pageUrl STRING NOT NULL, country STRING, price DOUBLE, n INT NOT NULL, ok BOOLEAN,
        day DATE, seen_at TIMESTAMP, tags ARRAY<STRING>, buyer STRUCT<id: BIGINT NOT NULL, city: STRING>,
        extra MAP<STRING, DECIMAL(4,4)>, `größe "x"` STRING""",
    event_time="ts",
    integers_as_text=("country",),
)


def topics() -> st.SearchStrategy[Topic]:
    """Of any schema, with the event time anywhere among its fields."""

    def topic(schema: Struct, place: int) -> Topic:
        fields = list(schema.fields)
        fields.insert(place, Field("happened", Scalar("TIMESTAMP"), True))
        return Topic("orders", Struct(tuple(fields)), "happened")

    return st.builds(topic, schemas(), st.integers(0, 6))


def make(topic: Topic, recipe: Recipe, count: int) -> list[Made]:
    return list(islice(events(topic, recipe), count))


def test_the_first_thousand_events_of_a_seed_are_the_same_on_every_python() -> None:
    # If this digest changes, every seed gives other records than before: that needs an entry in the changelog.
    digest = hashlib.sha256()
    for topic in (ORDERS, CLICKS):
        for made in make(topic, MIXED, 1000):
            digest.update(b"%s\n%s\n%s\n" % (made.key, made.value, str(made.facts).encode()))
    assert digest.hexdigest() == "85a2890ccefc2220bc41a32949c11faa6b7b8e8f25a2eeacea4bc48e0140c874"


def is_of(value: Any, type_: Type) -> bool:
    """Whether JSON's value is one that the schema takes: slow and obvious."""
    match type_:
        case Scalar("STRING"):
            return isinstance(value, str)
        case Scalar("INT"):
            return type(value) is int and -(2**31) <= value < 2**31
        case Scalar("BIGINT"):
            return type(value) is int and -(2**63) <= value < 2**63
        case Scalar("DOUBLE"):
            return type(value) in (int, float)
        case Scalar("BOOLEAN"):
            return type(value) is bool
        case Scalar("TIMESTAMP"):
            return datetime.fromisoformat(value).tzinfo is not None
        case Scalar():
            return bool(date.fromisoformat(value))
        case Decimal(precision, scale):
            return type(value) in (int, float) and abs(value) < 10 ** (precision - scale)
        case Array(element):
            return isinstance(value, list) and all(one is None or is_of(one, element) for one in value)
        case Map(inner):
            return all(one is None or is_of(one, inner) for one in value.values())
        case Struct():
            return is_event(value, type_)


def is_event(value: Any, schema: Struct) -> bool:
    return set(value) <= set(schema.names) and all(
        is_of(value[field.name], field.type) if value.get(field.name) is not None else not field.is_required
        for field in schema.fields
    )


@given(topics(), st.integers(0, 3))
def test_an_event_of_any_schema_is_one_that_the_schema_takes(topic: Topic, seed: int) -> None:
    for made in make(topic, Recipe(seed=seed), 20):
        event = json.loads(made.value)
        assert is_event(event, topic.schema)
        assert event_time(made) == clock(made) == datetime.fromisoformat(event[topic.event_time])
        assert facts(made) == {
            "key": made.key.decode(),
            "event_time": event[topic.event_time],
            "problem": None,
            "event": event,
        }


@given(topics())
def test_every_fault_leaves_no_usable_event(topic: Topic) -> None:
    (made,) = make(topic, Recipe(), 1)
    for fault in faults_of(topic):
        broken = fault.spoil(made.value)
        assert broken != made.value
        if fault.is_readable:
            assert not is_usable(json.loads(broken), topic)


def is_usable(event: dict[str, Any], topic: Topic) -> bool:
    try:
        year = datetime.fromisoformat(event[topic.event_time]).year
        return is_event(event, topic.schema) and len(event[topic.event_time]) > len("2025-09-04") and year <= 9998
    except (ValueError, TypeError, KeyError, AttributeError):
        return False


def test_every_problem_of_the_schema_and_of_json_is_among_the_faults() -> None:
    assert {fault.problem for fault in faults_of(ORDERS)} == {
        *("no placed_at", "placed_at is a number", "placed_at is not a time", "placed_at out of range"),
        *("no order_id", "no customer", "wrong type: order_id", "wrong type: customer", "wrong type: amount"),
        *(
            "lone surrogate",
            "not JSON",
            "empty record",
            "not an object",
            "more than one object",
            "duplicate key",
            "NUL character",
            "not UTF-8",
        ),
    }


def test_a_bad_record_tells_its_problem_and_what_can_be_read_of_it() -> None:
    for made in make(ORDERS, Recipe(bad=1), 300):
        known = facts(made)
        assert (made.kind, known["key"]) == ("bad", made.key.decode())
        assert known["problem"] is not None
        assert known["event"] == (json.loads(made.value) if known["event"] else None)
        # A time that can be used is told, also beside another fault.
        assert (known["event_time"] is not None) == known["problem"].startswith(("no order", "no cust", "wrong type"))


def test_every_kind_has_its_share_and_a_duplicate_repeats_a_good_record() -> None:
    made = make(ORDERS, MIXED, 20_000)
    kinds = Counter(one.kind for one in made)
    assert set(kinds) == set(KINDS)
    for kind, share in MIXED.shares().items():
        assert kinds[kind] / len(made) == pytest.approx(share, abs=0.006)
    good = {one.value for one in made if one.kind == "good"}
    assert all(one.value in good for one in made if one.kind == "duplicate")


def test_the_events_own_id_counts_up_and_what_it_is_about_repeats() -> None:
    made = [json.loads(one.value) for one in make(ORDERS, Recipe(seed=7), 2000)]
    assert [one["order_id"] for one in made] == [f"7_{n}" for n in range(2000)]
    assert 10 < len({one["customer"] for one in made}) < 50
    clicks = [json.loads(one.value) for one in make(CLICKS, Recipe(seed=7, visitors=3), 2000)]
    assert {one["user_id"] for one in clicks if one.get("user_id")} == set(range(1, 31))
    assert len({one["pageUrl"] for one in clicks}) < 50


def test_what_is_not_required_is_sometimes_null_and_sometimes_missing() -> None:
    made = [json.loads(one.value) for one in make(CLICKS, Recipe(), 2000)]
    for name in ("user_id", "country", "tags", "buyer"):
        missing, null = sum(name not in one for one in made), sum(name in one and one[name] is None for one in made)
        assert 50 < missing < 150
        assert 50 < null < 150
    assert all(one["ts"] and one["pageUrl"] and one["n"] is not None for one in made)


@pytest.mark.parametrize(
    ("schema", "field"),
    [
        ("t TIMESTAMP, a STRING, b STRING NOT NULL, customerId BIGINT, order_id STRING", "customerId"),
        ("t TIMESTAMP, a STRING, b STRING NOT NULL, c STRING NOT NULL", "b"),
        ("t TIMESTAMP, a STRING, paid_id DOUBLE", None),
    ],
)
def test_the_key_is_the_first_id_or_the_first_required_text(schema: str, field: str | None) -> None:
    topic = define_topic("things", schema=schema, event_time="t")
    found = key_field(topic)
    assert (found.name if found else None) == field
    for made in make(topic, Recipe(seed=3), 200):
        written = json.loads(made.value).get(field)
        assert made.key.decode() == str(written) or written is None
        assert made.key
    assert field or made.key == b"3_199"
