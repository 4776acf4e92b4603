"""The pipelines, by their real queries and without Kafka: batches in, results out."""

from datetime import UTC, datetime
from decimal import Decimal

from anabranch.testing import PipelineTest

from pipelines import revenue


def at(minute: int) -> datetime:
    return datetime(2025, 9, 4, 7, minute, tzinfo=UTC)


def order(customer: str, amount: float, minute: int) -> dict[str, object]:
    return {
        "order_id": f"{customer}-{minute}",
        "customer": customer,
        "amount": amount,
        "placed_at": at(minute).isoformat(),
    }


def test_a_window_is_emitted_once_when_the_watermark_has_passed_it() -> None:
    with PipelineTest(revenue) as stream:
        assert stream.batch([order("Ada", 3.5, 1), order("Ada", 4, 2)]) == []
        # The watermark is 10 minutes behind the latest order: at 07:06.
        assert stream.batch([order("Ben", 1, 16)]) == [
            {
                "window": {"start": at(0), "end": at(5)},
                "customer": "Ada",
                "revenue": Decimal("7.50"),
                "orders": 2,
            }
        ]
        assert stream.batch([order("Ada", 9, 3)]) == []
        assert stream.late == 1


def test_an_order_without_a_customer_has_a_problem() -> None:
    with PipelineTest(revenue) as stream:
        stream.batch([{"order_id": "1", "placed_at": at(0).isoformat()}])
        assert [one.problem for one in stream.problems] == ["no customer"]
