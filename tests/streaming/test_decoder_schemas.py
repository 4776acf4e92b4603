"""The decoder by drawn schemas: it says of every record what a judge in plain Python says, in any zone, stream and batch."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal as Number
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from anabranch.pipeline.schema import Array, Decimal, Map, Scalar, Struct, Type, quoted
from anabranch.pipeline.topic import Topic
from anabranch.streaming.decoder.decode import decode
from tests.streaming.decoder_draws import topics, values
from tests.streaming.decoder_frames import RECORD_TIME_S, RECORDS, records
from tests.streaming.decoder_judge import Verdict, judge

pytestmark = pytest.mark.spark

ZONE, HOUR_S = "Europe/Paris", 3600.0
TOPICS = topics(20)
RECORDS_EACH = 250


def decoded(frame: DataFrame, topic: Topic) -> DataFrame:
    """The fields as JSON: neither the session nor this process adds its zone."""
    found = decode(frame, topic, zone=ZONE, future_tolerance_s=HOUR_S)
    options = "map('timestampFormat', \"yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX\", 'timeZone', 'UTC', 'ignoreNullFields', 'false')"
    fields = ", ".join(map(quoted, topic.schema.names))
    return found.selectExpr("_offset", "_problem", f"to_json(struct({fields}), {options}) AS fields")


def verdicts(frame: DataFrame, topic: Topic) -> list[Verdict]:
    rows = decoded(frame, topic).orderBy("_offset").collect()
    return [Verdict(row._problem, None if row._problem else _values(topic, row.fields)) for row in rows]


def _values(topic: Topic, text: str) -> dict[str, Any]:
    found = json.loads(text, parse_float=Number, parse_int=Number)
    return {field.name: _value(field.type, found[field.name]) for field in topic.schema.fields}


def _value(type_: Type, found: Any) -> Any:
    if found is None:
        return None
    match type_:
        case Array(element):
            return [_value(element, one) for one in found]
        case Map(value):
            return {key: _value(value, one) for key, one in found.items()}
        case Struct(fields):
            return {field.name: _value(field.type, found[field.name]) for field in fields}
        case Scalar("DOUBLE"):
            return float(found)
        case Scalar("TIMESTAMP"):
            moment = datetime.fromisoformat(found)
            return round((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()) * 1_000_000 + moment.microsecond
        case Scalar() | Decimal():
            return found


@pytest.mark.parametrize("number", range(len(TOPICS)))
def test_every_record_is_decoded_as_the_judge_says(spark: SparkSession, number: int) -> None:
    topic = TOPICS[number]
    drawn = values(topic, RECORDS_EACH)
    found = verdicts(records(spark, drawn), topic)
    expected = [judge(one, topic, zone=ZONE, record_time_s=RECORD_TIME_S, tolerance_s=HOUR_S) for one in drawn]
    wrong = [
        f"{value!r}\n  decoded {said}\n  judged {right}"
        for value, said, right in zip(drawn, found, expected, strict=True)
        if said != right
    ]
    assert not wrong, f"{topic.schema.ddl()} {topic.aliases} {topic.integers_as_text}\n" + "\n".join(wrong[:5])
    assert {verdict.problem is None for verdict in expected} == {True, False}


def test_a_stream_and_another_zone_decode_as_a_batch_does(spark: SparkSession, tmp_path: Path) -> None:
    topic = max(TOPICS, key=lambda one: len(one.schema.ddl()))
    drawn = records(spark, values(topic, RECORDS_EACH))
    expected = verdicts(drawn, topic)
    drawn.write.parquet(str(tmp_path / "records"))
    before = spark.conf.get("spark.sql.session.timeZone")
    assert before is not None
    spark.conf.set("spark.sql.session.timeZone", "Asia/Kathmandu")
    try:
        stream = decoded(spark.readStream.schema(RECORDS).parquet(str(tmp_path / "records")), topic)
        writer = stream.writeStream.format("memory").queryName("drawn").trigger(availableNow=True)
        writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start().awaitTermination()
        rows = spark.table("drawn").orderBy("_offset").collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
    assert [Verdict(row._problem, None if row._problem else _values(topic, row.fields)) for row in rows] == expected
