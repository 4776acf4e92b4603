"""Topics as users declare them: what is kept, and what is rejected with which remedy. Pure."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from anabranch.errors import Misused
from anabranch.pipeline.builtin.visits import VISITS
from anabranch.pipeline.schema import parse_schema
from anabranch.pipeline.topic import Place, Topic, define_topic

ORDERS = "order_id STRING NOT NULL, customer STRING, amount DECIMAL(12,2), placed_at TIMESTAMP"


def defined(**changes: Any) -> Topic:
    name = changes.pop("name", "orders")
    return define_topic(name, **{"schema": ORDERS, "event_time": "placed_at", **changes})


def test_a_topic_keeps_what_was_declared() -> None:
    topic = defined(lake="lake/orders", aliases={"customer": "buyer"}, integers_as_text=["order_id"], place=Place("p.py", 3))
    assert topic == Topic(
        name="orders",
        schema=parse_schema(ORDERS),
        event_time="placed_at",
        lake="lake/orders",
        aliases=(("customer", "buyer"),),
        integers_as_text=("order_id",),
        place=Place("p.py", 3),
    )
    assert (topic.spellings("customer"), topic.spellings("amount")) == (("customer", "buyer"), ("amount",))
    assert Place("p.py", 3).describe() == "p.py:3"
    assert hash(topic)


@pytest.mark.parametrize(
    ("changes", "code", "remedy"),
    [
        ({"name": "or ders"}, "topic-name-illegal", "letters"),
        ({"name": ""}, "topic-name-illegal", "letters"),
        ({"schema": ""}, "schema-empty", "at least"),
        ({"event_time": "placed"}, "event-time-not-a-field", "did you mean placed_at?"),
        ({"event_time": "Placed_At"}, "event-time-not-a-field", "did you mean placed_at?"),
        ({"event_time": "amount"}, "event-time-not-a-timestamp", "amount TIMESTAMP NOT NULL"),
        ({"aliases": {"custmer": "x"}}, "topic-field-unknown", "did you mean customer?"),
        ({"aliases": {"customer": "amount"}}, "alias-taken", "of its own"),
        ({"aliases": {"customer": "Customer"}}, "alias-taken", "of its own"),
        ({"aliases": {"customer": "x", "amount": "X"}}, "alias-taken", "of its own"),
        ({"aliases": {"customer": ""}}, "alias-illegal", "at least one"),
        ({"aliases": {"customer": "a\nb"}}, "alias-illegal", "at least one"),
        ({"integers_as_text": ["order"]}, "topic-field-unknown", "did you mean order_id?"),
        ({"integers_as_text": ["order_id", "amount"]}, "integers-not-text", "STRING"),
    ],
)
def test_a_wrong_declaration_is_rejected_with_a_remedy(changes: dict[str, Any], code: str, remedy: str) -> None:
    with pytest.raises(Misused) as rejected:
        defined(**changes)
    assert rejected.value.code == code
    assert remedy in " ".join(rejected.value.remedies)


def test_the_remedy_for_a_reserved_name_is_a_declaration_that_works() -> None:
    with pytest.raises(Misused) as rejected:
        defined(schema=f"{ORDERS}, window STRING")
    aliases = ast.literal_eval(rejected.value.remedies[0].partition("aliases=")[2])
    (name,) = aliases
    assert defined(schema=f"{ORDERS}, {name} STRING", aliases=aliases).spellings(name)[1] == "window"


def test_the_topic_of_the_seeds_reads_every_spelling_that_the_seeds_have() -> None:
    assert VISITS.schema.names == ("event_time", "visit_id", "user_id", "event_id", "page", "browser")
    assert [VISITS.spellings(name)[-1] for name in ("event_time", "user_id", "page")] == ["eventTime", "userId", "page"]
