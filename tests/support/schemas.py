"""Schemas drawn at random: every type, nested in any way, names plain and odd."""

from __future__ import annotations

from hypothesis import strategies as st

from anabranch.pipeline.schema import RESERVED, SCALARS, Array, Decimal, Field, Map, Scalar, Struct, Type

ODD_NAMES = (
    "a b",
    "x:y",
    "tick`s",
    "été",
    "日本",
    "1st",
    "a.b",
    "select",
    "q\"uote's",
    "back\\slash",
    "NOT",
    "struct",
    "$[0]",
    "<>",
)
PLAIN_NAMES = ("id", "user_id", "userId", "amount", "placed_at", "page", "value", "key", "topic", "tags", "city", "n", "_x")


def scalars() -> st.SearchStrategy[Type]:
    decimals = st.integers(1, 38).flatmap(lambda digits: st.builds(Decimal, st.just(digits), st.integers(0, digits)))
    return st.sampled_from(SCALARS).map(Scalar) | decimals


def types(max_leaves: int = 4) -> st.SearchStrategy[Type]:
    return st.recursive(
        scalars(), lambda inner: inner.map(Array) | inner.map(Map) | structs(inner, max_size=3), max_leaves=max_leaves
    )


def structs(inner: st.SearchStrategy[Type], max_size: int, names: tuple[str, ...] = ()) -> st.SearchStrategy[Struct]:
    name = st.sampled_from(names or (*PLAIN_NAMES, *ODD_NAMES)).filter(lambda one: one.lower() not in RESERVED)
    fields = st.builds(Field, name, inner, st.booleans())
    return st.lists(fields, min_size=1, max_size=max_size, unique_by=lambda field: field.name.lower()).map(
        lambda found: Struct(tuple(found))
    )


def schemas(max_size: int = 6) -> st.SearchStrategy[Struct]:
    return structs(types(), max_size)
