"""Schemas as users write them: what is read, what is written back, and what is rejected where. Pure."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from anabranch.errors import Misused
from anabranch.pipeline.schema import (
    MOST_LEVELS,
    RESERVED,
    Array,
    Decimal,
    Field,
    Map,
    Scalar,
    Struct,
    Type,
    parse_schema,
)
from tests.support.schemas import schemas, structs, types

STRING, BIGINT = Scalar("STRING"), Scalar("BIGINT")


def test_every_type_is_read_in_any_case_and_by_its_synonyms() -> None:
    schema = parse_schema(
        "a string, b Int NOT NULL, c INTEGER, d long, e BIGINT not null, f double, g boolean, h timestamp, i DATE,\n"
        "  j DECIMAL, k dec(5), l NUMERIC ( 38 , 38 ), m array<Array<INT>>, n map<string,struct<x:INT,y STRING>>,"
        " o Timestamp_LTZ"
    )
    expected: list[tuple[str, Type, bool]] = [
        ("a", STRING, False),
        ("b", Scalar("INT"), True),
        ("c", Scalar("INT"), False),
        ("d", BIGINT, False),
        ("e", BIGINT, True),
        ("f", Scalar("DOUBLE"), False),
        ("g", Scalar("BOOLEAN"), False),
        ("h", Scalar("TIMESTAMP"), False),
        ("i", Scalar("DATE"), False),
        ("j", Decimal(10, 0), False),
        ("k", Decimal(5, 0), False),
        ("l", Decimal(38, 38), False),
        ("m", Array(Array(Scalar("INT"))), False),
        ("n", Map(Struct((Field("x", Scalar("INT")), Field("y", STRING)))), False),
        ("o", Scalar("TIMESTAMP"), False),
    ]
    assert [(field.name, field.type, field.is_required) for field in schema.fields] == expected
    assert schema.names[:2] == ("a", "b")
    assert schema.field("B") is None


def test_names_are_read_letter_by_letter_with_or_without_backticks() -> None:
    schema = parse_schema("`a b` STRING, `tick``s` INT, été STRING, 1st INT, not INT NOT NULL, Key: STRING, `<>` INT")
    assert schema.names == ("a b", "tick`s", "été", "1st", "not", "Key", "<>")


@given(schemas())
@example(Struct((Field("a", Struct((Field("`", Array(Map(Decimal(3, 1))), True),)), True),)))
def test_what_is_written_is_read_back_as_the_same_schema(schema: Struct) -> None:
    assert parse_schema(schema.ddl()) == schema
    assert parse_schema(schema.ddl().replace(" NOT NULL", "\n  not  null").replace(": ", ":")) == schema


@given(structs(types(), max_size=3), st.data())
def test_a_schema_cut_or_changed_is_read_or_rejected_as_misused(schema: Struct, data: st.DataObject) -> None:
    text = schema.ddl()
    place = data.draw(st.integers(0, len(text)))
    changed = data.draw(st.sampled_from([text[:place], text[:place] + data.draw(st.text(max_size=2)) + text[place:]]))
    try:
        again = parse_schema(changed)
    except Misused as rejected:
        assert rejected.remedies  # noqa: PT017
        assert 1 <= rejected.reason.params.get("position", 1) <= len(changed) + 1  # noqa: PT017
    else:
        assert parse_schema(again.ddl()) == again


@pytest.mark.parametrize(
    ("ddl", "code", "position", "remedy"),
    [
        ("", "schema-empty", None, "at least the event time"),
        (" \n", "schema-empty", None, "at least the event time"),
        ("a", "schema-malformed", 2, "write it like"),
        ("a STRING b", "schema-malformed", 10, "write it like"),
        ("a STRING,", "schema-malformed", 10, "write it like"),
        ("a STRING NOT", "schema-malformed", 13, "write it like"),
        ("a STRING COMMENT 'x'", "schema-malformed", 10, "write it like"),
        ("a STRUCT<>", "schema-malformed", 10, "write it like"),
        ("a ARRAY<INT", "schema-malformed", 12, "write it like"),
        ("a ARRAY<INT NOT NULL>", "schema-malformed", 13, "write it like"),
        ("a DECIMAL(x)", "schema-malformed", 11, "write it like"),
        ("a `STRING`", "schema-malformed", 3, "write it like"),
        ("a STRNG", "schema-type-unknown", 3, "did you mean STRING?"),
        ("x INT,\n a smallint", "schema-type-unknown", 11, "did you mean INT?"),
        ("a FLOAT", "schema-type-unknown", 3, "did you mean DOUBLE?"),
        ("a ARRAY<timestamp_ntz>", "schema-type-unknown", 9, "did you mean TIMESTAMP?"),
        ("a qqqq", "schema-type-unknown", 3, "available: ARRAY, BIGINT,"),
        ("`` STRING", "schema-name-illegal", 1, "at least one character"),
        ("`a\tb` STRING", "schema-name-illegal", 1, "at least one character"),
        ("a INT, b INT, A STRING", "schema-name-repeated", 15, "keep one of them"),
        ("a STRUCT<x: INT, X: INT>", "schema-name-repeated", 18, "keep one of them"),
        ("a DECIMAL(39,0)", "schema-decimal-out-of-range", 3, "1 to 38 digits"),
        ("a DECIMAL(0)", "schema-decimal-out-of-range", 3, "1 to 38 digits"),
        ("a DECIMAL(2,3)", "schema-decimal-out-of-range", 3, "1 to 38 digits"),
        ("a MAP<INT, STRING>", "schema-map-key", 7, "MAP<STRING, ...>"),
        ("a MAP<STRING>", "schema-malformed", 13, "write it like"),
    ],
)
def test_a_wrong_schema_is_rejected_with_its_position_and_a_remedy(
    ddl: str, code: str, position: int | None, remedy: str
) -> None:
    with pytest.raises(Misused) as rejected:
        parse_schema(ddl)
    assert rejected.value.code == code
    assert rejected.value.reason.params.get("position") == position
    assert remedy in " ".join(rejected.value.remedies)


@pytest.mark.parametrize("name", [*RESERVED, "WINDOW", "_Topic"])
def test_names_that_anabranch_adds_are_reserved_at_the_top_level_alone(name: str) -> None:
    with pytest.raises(Misused) as rejected:
        parse_schema(f"{name} STRING")
    assert rejected.value.code == "schema-name-reserved"
    assert parse_schema(f"a STRUCT<{name}: STRING>").ddl() == f"a STRUCT<{name}: STRING>"


def test_a_schema_may_be_nested_as_deep_as_is_said_and_no_deeper() -> None:
    def nested(levels: int) -> str:
        return "a " + "ARRAY<" * levels + "INT" + ">" * levels

    assert parse_schema(nested(MOST_LEVELS)).ddl() == nested(MOST_LEVELS)
    for levels in (MOST_LEVELS + 1, 100_000):
        with pytest.raises(Misused) as rejected:
            parse_schema(nested(levels))
        assert rejected.value.code == "schema-too-deep"


def test_the_example_of_a_remedy_is_a_schema() -> None:
    with pytest.raises(Misused) as rejected:
        parse_schema("a")
    assert len(parse_schema(rejected.value.remedies[0].removeprefix("write it like: ")).fields) == 4
