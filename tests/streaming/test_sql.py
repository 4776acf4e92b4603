"""Values in SQL: whatever they hold, they end nothing and begin nothing."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from anabranch.streaming.decoder.sql import literal, regex

pytestmark = pytest.mark.spark

TEXTS = ["it's", 'a "word"', "back\\slash", "\\", "\\' OR 1 = 1 --", "' || current_user() || '", "two\nlines", "\\u0041 €", ""]


def test_any_text_stands_in_sql_as_it_is(spark: SparkSession) -> None:
    assert list(spark.range(1).selectExpr(*map(literal, TEXTS)).collect()[0]) == TEXTS


def test_a_pattern_stands_in_sql_letter_by_letter(spark: SparkSession) -> None:
    pattern = r'^\\u[0-9]{4}"\z'
    assert spark.range(1).selectExpr(regex(pattern)).collect()[0][0] == pattern
