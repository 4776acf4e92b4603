"""Values in SQL: whatever they hold, they end nothing and begin nothing."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from anabranch.streaming.sql import literal

pytestmark = pytest.mark.spark

TEXTS = ["it's", 'a "word"', "back\\slash", "\\", "\\' OR 1 = 1 --", "' || current_user() || '", "two\nlines", "\\u0041 €", ""]


def test_any_text_stands_in_sql_as_it_is(spark: SparkSession) -> None:
    assert list(spark.range(1).selectExpr(*map(literal, TEXTS)).collect()[0]) == TEXTS
