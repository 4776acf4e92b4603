"""Sending to an in-memory fake of a producer: queues, failures, stops, the future guard and the rate."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, Message

from anabranch.errors import Failed
from anabranch.generator.ledger import Ledger, read_ledger
from anabranch.generator.pace import Pace
from anabranch.generator.recipe import Recipe
from anabranch.generator.sender import OnDelivery, Sender, SendProgress
from anabranch.generator.timeline import Made
from anabranch.generator.visits import visits
from tests.generator.samples import MIXED, clock, make


class MemoryOutbox:
    """A fake producer: accepts `capacity` records between two polls, and acknowledges those with offsets below `fails_at`."""

    def __init__(self, capacity: int = 10_000, fails_at: int | None = None) -> None:
        self.capacity, self.fails_at = capacity, fails_at
        self.taken: list[bytes] = []
        self._waiting: list[OnDelivery] = []
        self._next_offset = 0

    def produce(self, _topic: str, value: bytes, _key: bytes, _partition: int, on_delivery: OnDelivery, /) -> None:
        if len(self._waiting) == self.capacity:
            raise BufferError("queue full")
        self.taken.append(value)
        self._waiting.append(on_delivery)

    def poll(self, _timeout: float, /) -> int:
        waiting, self._waiting = self._waiting, []
        for on_delivery in waiting:
            failed = self.fails_at is not None and self._next_offset >= self.fails_at
            message = Message(topic="visits", partition=0, offset=self._next_offset, timestamp=(1, 0))
            on_delivery(KafkaError(KafkaError._MSG_TIMED_OUT) if failed else None, message)
            self._next_offset += 1
        return len(waiting)

    def flush(self, timeout: float, /) -> int:
        self.poll(timeout)
        return 0

    def __len__(self) -> int:
        return len(self._waiting)


def test_sending_waits_for_a_full_queue_and_sends_every_record_once_and_in_order() -> None:
    outbox = MemoryOutbox(capacity=7)
    sent = Sender("visits", "here:1", Pace(count=1500)).run(outbox, visits(MIXED))
    records = make(MIXED, 1500)
    assert outbox.taken == [made.value for made in records]
    assert sent.acknowledged == 1500
    assert sent.by_kind == Counter(made.kind for made in records)
    assert (sent.first_event_time, sent.last_event_time) == (clock(records[0]), clock(records[-1]))


def test_sending_ends_with_the_records() -> None:
    assert Sender("visits", "here:1", Pace()).run(MemoryOutbox(), iter(make(MIXED, 1234))).acknowledged == 1234
    assert Sender("visits", "here:1", Pace()).run(MemoryOutbox(), iter([])).first_event_time is None


def test_undelivered_records_are_an_error_with_topic_address_and_counts(tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger") as ledger, pytest.raises(Failed) as error:
        Sender("visits", "here:1", Pace(), ledger).run(MemoryOutbox(fails_at=1500), visits(MIXED))
    assert error.value.code == "records-not-acknowledged"
    params = error.value.reason.params
    assert (params["topic"], params["address"], params["acknowledged"]) == ("visits", "here:1", 1500)
    assert params["sent"] > 1500
    assert [entry.offset for entry in read_ledger(tmp_path / "ledger")] == list(range(1500))


def test_a_stop_ends_sending_after_every_acknowledgement() -> None:
    stop = threading.Event()

    def stopping() -> Iterator[Made]:
        for number, made in enumerate(visits(MIXED)):
            if number == 2500:
                stop.set()
            yield made

    outbox = MemoryOutbox()
    sent = Sender("visits", "here:1", Pace(), stop=stop).run(outbox, stopping())
    assert 2500 < sent.acknowledged == len(outbox.taken)


def test_a_stop_takes_effect_while_the_queue_is_full_and_the_broker_unreachable() -> None:
    class Stuck(MemoryOutbox):
        def poll(self, _timeout: float, /) -> int:
            return 0

        def flush(self, timeout: float, /) -> int:
            return super().poll(timeout) * 0

    stop = threading.Event()
    sender = Sender("visits", "here:1", Pace(), progress=lambda _: stop.set(), stop=stop)
    sent = sender.run(Stuck(capacity=5), visits(MIXED))
    assert sent.acknowledged == sum(sent.by_kind.values()) == 5


def test_the_event_clock_waits_at_the_future_guard_and_reports_it_but_future_records_do_not_wait() -> None:
    start = datetime.now(UTC)
    recipe = Recipe(start=start, spacing_s=600, future=0.5)
    reported: list[SendProgress] = []
    pace = Pace(duration_s=0.5)
    sent = Sender("visits", "here:1", pace, progress=reported.append).run(MemoryOutbox(), visits(recipe))
    assert sent.acknowledged == 6  # one hour, in steps of 10 minutes
    assert sent.by_kind["future"] > 0
    assert any(progress.holding_back for progress in reported)


def test_the_event_clock_may_run_ahead_with_allow_future() -> None:
    recipe = Recipe(start=datetime.now(UTC), spacing_s=600)
    sender = Sender("visits", "here:1", Pace(count=500, allow_future=True))
    assert sender.run(MemoryOutbox(), visits(recipe)).acknowledged == 500


def test_a_rate_is_not_exceeded() -> None:
    started_s = time.monotonic()
    sent = Sender("visits", "here:1", Pace(rate_per_s=200, count=41)).run(MemoryOutbox(), visits(MIXED))
    assert sent.acknowledged == 41
    assert time.monotonic() - started_s >= 0.19
