"""The decoder never throws, reads each record once, is compiled, and its plan stays small."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from anabranch.pipeline.builtin.visits import VISITS
from anabranch.pipeline.topic import Topic, define_topic
from anabranch.streaming.decoder.decode import decode
from tests.streaming.decoder_cases import HOUR_S, SEVEN, ZONE, at
from tests.streaming.decoder_frames import in_utc, records

pytestmark = pytest.mark.spark


def test_no_bytes_make_it_throw_and_each_record_is_good_or_has_a_problem(spark: SparkSession) -> None:
    rows = in_utc(decode(records(spark, random_values()), VISITS, zone=ZONE, future_tolerance_s=HOUR_S))
    assert len(rows) > 500
    assert {(row._problem is None) for row in rows} == {True, False}
    for row in rows:
        assert row._problem is not None or row.event_time is not None, row
    agreeing = [row for row in rows if row._problem is None]
    for row in agreeing:
        event: dict[str, Any] = json.loads(row._value)
        assert row.visit_id == (None if event.get("visit_id") is None else str(event["visit_id"])), row


def random_values() -> list[bytes | None]:
    """Random bytes, random JSON and good events with bytes changed; the same ones at every run."""
    values: list[bytes | None] = []
    scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
    anything = st.recursive(
        scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    )
    names = st.sampled_from(["event_id", "visit_id", "user_id", "userId", "event_time", "eventTime", "page", "browser", "x"])

    @settings(
        max_examples=150,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.binary(max_size=60), st.dictionaries(names, anything, max_size=6), anything)
    def collect(raw: bytes, event: dict[str, object], other: object) -> None:
        timed = {**event, "event_time": SEVEN}
        values.extend([raw, json.dumps(event).encode(), json.dumps(timed).encode(), json.dumps(other).encode()])
        values.append(json.dumps(timed, ensure_ascii=False).encode("utf-8", "surrogatepass"))

    collect()
    random = Random(4)
    whole = bytearray(at(SEVEN, event_id="click-1", visit_id=1, user_id="u", page="p", browser="b").encode())
    for _ in range(300):
        mutant = bytearray(whole)
        for _ in range(random.randint(1, 3)):
            place = random.randrange(len(mutant))
            match random.randrange(4):
                case 0:
                    mutant[place] = random.randrange(256)
                case 1:
                    del mutant[place]
                case 2:
                    mutant[place:place] = random.choice([b"}", b"{", b'"', b"\\", b",", b":", b"\0", b"1"])
                case _:
                    mutant = mutant[: place + 1]
        values.append(bytes(mutant))
    return values


def test_each_record_is_parsed_once_however_its_columns_are_used(spark: SparkSession) -> None:
    events = decode(records(spark, [b"{}"]), VISITS, zone=ZONE, future_tolerance_s=HOUR_S)
    used = events.where("_problem is null and visit_id is not null and event_time > timestamp'2020-01-01'")
    counted = used.groupBy(F.window("event_time", "10 minutes"), "browser").count()
    for frame in (events, used.select("*", F.upper("page")), counted):
        assert optimized_plan(frame).count("decode(") == 1


def test_times_and_dates_inside_of_others_are_decoded(spark: SparkSession) -> None:
    topic = define_topic(
        "events",
        schema="at TIMESTAMP NOT NULL, body STRUCT<seen_at: TIMESTAMP, who: STRUCT<id: INT NOT NULL, born: DATE>>, "
        "stops ARRAY<STRUCT<at: TIMESTAMP, price: DECIMAL(4,2)>>, days MAP<STRING, DATE>",
        event_time="at",
    )
    body = f'{{"seen_at":"{SEVEN}","who":{{"id":1,"born":"2000-02-29"}}}}'
    rest = f'"stops":[{{"at":"{SEVEN}","price":1.005}},{{"at":null}}],"days":{{"a":"2025-09-04"}}'
    usual: list[bytes | None] = [
        f'{{"at":"{SEVEN}","body":{body},{rest}}}'.encode(),
        f'{{{rest},"body":{body[:-1]},"unread":1}},"at":"{SEVEN}"}}'.encode(),
        f'{{"at":"{SEVEN}","body":{{"who":null}}}}'.encode(),
    ]
    frame = records(spark, usual)
    found = [row.asDict(recursive=True) for row in decode(frame, topic, zone="UTC", future_tolerance_s=None).collect()]
    seven = found[0]["at"]
    whole = {"seen_at": seven, "who": {"id": 1, "born": date(2000, 2, 29)}}
    assert [row["body"] for row in found] == [whole, whole, {"seen_at": None, "who": None}]
    assert found[1]["stops"] == [{"at": seven, "price": Decimal("1.01")}, {"at": None, "price": None}]
    assert [row["days"] for row in found] == [{"a": date(2025, 9, 4)}, {"a": date(2025, 9, 4)}, None]


WIDE = define_topic(
    "orders",
    schema="order_id STRING NOT NULL, customer STRING, placed_at TIMESTAMP NOT NULL, amount DECIMAL(12,2), tax DECIMAL(12,2), "
    "quantity INT, account BIGINT, weight DOUBLE, is_gift BOOLEAN, ship_on DATE, paid_at TIMESTAMP, note STRING",
    event_time="placed_at",
)
NESTED = define_topic(
    "orders",
    schema="order_id STRING NOT NULL, placed_at TIMESTAMP NOT NULL, customer STRUCT<id: BIGINT NOT NULL, city: STRING>, "
    "lines ARRAY<STRUCT<sku: STRING, quantity: INT, price: DECIMAL(10,2)>>, tags MAP<STRING, STRING>",
    event_time="placed_at",
)


def test_no_record_is_too_large_to_be_decoded(spark: SparkSession) -> None:
    """Were a key compared with each other one, or a character a frame on Java's stack, this would not come to its end."""
    many = range(50_000)
    keys = ",".join(f'"k{number}":{number}' for number in many)
    tags = ",".join(f'"t{number}":"x"' for number in many)
    lines = ",".join(f'{{"sku":"s","quantity":{number},"x":1}}' for number in many)
    text = '\\"' * 500_000
    fields = [f'"customer":{{"id":1,{keys}}}', f'"tags":{{{tags}}}', f'"lines":[{lines}]', keys]
    values: list[bytes | None] = [
        *(f'{{"order_id":"1","placed_at":"{SEVEN}",{field}}}'.encode() for field in fields),
        f'{{"order_id":"{text}","placed_at":"{SEVEN}"}}'.encode(),
        f'{{"order_id":"{text}'.encode(),
        f'{{"order_id":"1","placed_at":"{SEVEN}","x":{"[" * 5000}'.encode(),
    ]
    found = decode(records(spark, values), NESTED, zone=ZONE, future_tolerance_s=HOUR_S)
    rows = found.selectExpr("_problem", "customer.id AS id", "size(lines) AS lines", "length(order_id) AS length").collect()
    assert [row._problem for row in rows] == [None, None, None, None, None, "not JSON", "not JSON"]
    assert (rows[0].id, rows[2].lines, rows[4].length) == (1, 50_000, 500_000)


@pytest.mark.parametrize("topic", [VISITS, WIDE, NESTED], ids=["visits", "wide", "nested"])
def test_the_jvm_compiles_what_every_record_goes_through(spark: SparkSession, topic: Topic) -> None:
    """A generated method of more than 8,000 bytes is interpreted, silently, and takes more than twice as long."""
    plan = physical_plan(spark, topic)
    jvm: Any = spark._jvm
    debug = jvm.java.lang.Class.forName("org.apache.spark.sql.execution.debug.package$").getField("MODULE$").get(None)
    stages = debug.codegenStringSeq(plan)
    sizes = [stages.apply(number)._3().maxMethodCodeSize() for number in range(stages.size())]
    assert sizes
    assert max(sizes) < 8000


@pytest.mark.parametrize("topic", [VISITS, WIDE, NESTED], ids=["visits", "wide", "nested"])
def test_no_generator_is_interpreted(spark: SparkSession, topic: Topic) -> None:
    """A star marks what is compiled."""
    generators = [line for line in physical_plan(spark, topic).toString().splitlines() if "Generate inline" in line]
    assert len(generators) == 1
    assert [line for line in generators if "*(" not in line] == []


def physical_plan(spark: SparkSession, topic: Topic) -> Any:
    events = decode(records(spark, [b"{}"]), topic, zone=ZONE, future_tolerance_s=HOUR_S)
    adaptive = spark.conf.get("spark.sql.adaptive.enabled")
    assert adaptive is not None
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    try:
        return events.where("_problem is null")._jdf.queryExecution().executedPlan()
    finally:
        spark.conf.set("spark.sql.adaptive.enabled", adaptive)


def optimized_plan(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().optimizedPlan().toString())
