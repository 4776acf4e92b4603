"""What ended a query, and whether waiting helps: from the texts that Spark gives."""

from __future__ import annotations

import pytest

from anabranch.streaming.failures import Cause, cause_of, is_transient

# As a run has seen it, on a busy machine.
SLOW_WORKER = "org.apache.spark.SparkException: Timed out while waiting for the Python worker to connect back"


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (SLOW_WORKER, "worker slow"),
        ("org.apache.kafka.common.errors.TimeoutException: Timed out waiting for a node assignment", "kafka away"),
        ("java.lang.IllegalStateException: Partition orders-0's offset was changed from 40 to 3", "data lost"),
        ("[DIVIDE_BY_ZERO] Division by zero", "other"),
    ],
)
def test_the_cause_is_told_from_the_text(error: str, cause: Cause) -> None:
    assert cause_of(error) == cause


def test_kafka_is_waited_for_without_end_and_a_worker_that_cannot_start_is_not() -> None:
    assert all(is_transient("kafka away", failures) for failures in (0, 5, 1000))
    assert [is_transient("worker slow", failures) for failures in (0, 4, 5)] == [True, True, False]
    assert not is_transient("other", 0)
