"""Orders, seeded: a topic of 12 mixed fields, and one with a nested struct and an array. As a shop's own topics would be."""

from __future__ import annotations

from collections.abc import Iterator

from anabranch.generator.events import events
from anabranch.generator.recipe import Recipe
from anabranch.generator.timeline import Made
from anabranch.pipeline.topic import define_topic

_RECIPE = Recipe(seed=13, spacing_s=0.05)
FLAT = define_topic(
    "orders",
    schema="order_id STRING NOT NULL, customer STRING NOT NULL, placed_at TIMESTAMP NOT NULL, amount DECIMAL(12,2), "
    "tax DECIMAL(12,2), quantity INT, account BIGINT, weight DOUBLE, is_gift BOOLEAN, ship_on DATE, country STRING, "
    "note STRING",
    event_time="placed_at",
)
NESTED = define_topic(
    "orders_nested",
    schema="order_id STRING NOT NULL, placed_at TIMESTAMP NOT NULL, country STRING, "
    "customer STRUCT<id: BIGINT NOT NULL, city: STRING, is_new: BOOLEAN>, "
    "lines ARRAY<STRUCT<sku: STRING, quantity: INT, price: DECIMAL(10,2)>>",
    event_time="placed_at",
)


def flat_orders() -> Iterator[Made]:
    return events(FLAT, _RECIPE)


def nested_orders() -> Iterator[Made]:
    return events(NESTED, _RECIPE)
