"""Test a pipeline without Kafka: batches of records in, results out, by its real streaming query.

from anabranch.testing import PipelineTest

def test_revenue() -> None:
    with PipelineTest(revenue) as stream:
        assert stream.batch([{"customer": "a", "amount": 3, "placed_at": "2026-01-01T10:00:00Z"}]) == []
"""

# Loads no pyspark: a test that is not run needs none.
from anabranch.testing.pipeline_test import PipelineTest, Problem, Record

__all__ = ["PipelineTest", "Problem", "Record"]
