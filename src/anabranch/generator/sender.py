"""One run of sending: bursts of records as the pace allows, with a check of the acknowledgements between them.

It knows nothing about events: a record has a key, a value, a kind and a position on the event clock.
Of Kafka it uses only the methods in `Outbox`, so its tests need no broker.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice
from typing import Protocol

from confluent_kafka import KafkaError, KafkaException, Message

from anabranch.errors import Failed
from anabranch.generator.ledger import Ledger
from anabranch.generator.pace import Pace
from anabranch.generator.recipe import RecordKind
from anabranch.generator.timeline import Made
from anabranch.kafka.admin import error_text
from anabranch.kafka.messages import RECORDS_NOT_ACKNOWLEDGED
from anabranch.kafka.records import PARTITION_BY_KEY

# Ten checks a second: the progress bar moves, and a stop takes effect at once.
_CHECK_EVERY_S = 0.1
# Records that are due within this time are sent together, so that a high rate does not cause a busy loop.
_SHORTEST_WAIT_S = 0.005

OnDelivery = Callable[[KafkaError | None, Message], None]


class Outbox(Protocol):
    """The part of a producer that sending uses."""

    def produce(self, topic: str, value: bytes, key: bytes, partition: int, on_delivery: OnDelivery, /) -> None: ...
    def poll(self, timeout: float, /) -> int: ...
    def flush(self, timeout: float, /) -> int: ...
    # The number of records that are neither acknowledged nor reported as failed.
    def __len__(self) -> int: ...


@dataclass(frozen=True, slots=True)
class SendProgress:
    acknowledged: int
    sent: int
    elapsed_s: float
    # The event clock has reached the future guard and now advances with the real clock.
    holding_back: bool
    # The client's last error, if nothing was acknowledged since.
    trouble: str | None


@dataclass(frozen=True, slots=True)
class Sent:
    acknowledged: int
    by_kind: Mapping[RecordKind, int]
    elapsed_s: float
    # The event clock at the first and at the last record.
    first_event_time: datetime | None
    last_event_time: datetime | None


class _SendingOver(Exception):
    """Sending was stopped, failed or ran out of time in the middle of a burst."""


@dataclass(slots=True)
class Sender:
    topic: str
    address: str
    pace: Pace
    ledger: Ledger | None = None
    progress: Callable[[SendProgress], None] | None = None
    stop: threading.Event = field(default_factory=threading.Event)
    _started_s: float = 0.0
    _shown_s: float = 0.0
    _sent: int = 0
    _acknowledged: int = 0
    # Records that Kafka did not acknowledge, records that the client did not accept, and the first reason.
    _failed: int = 0
    _rejected: int = 0
    _failure: str = ""
    _trouble: str | None = None
    _holding_back: bool = False
    _first_us: int | None = None
    _last_us: int | None = None
    _kinds: Counter[RecordKind] = field(default_factory=Counter)

    def run(self, outbox: Outbox, records: Iterator[Made]) -> Sent:
        """Sends until the pace, the records or `stop` end it, then waits for every acknowledgement."""
        self._started_s = time.monotonic()
        try:
            self._send_all(outbox, records)
            while outbox.flush(_CHECK_EVERY_S):
                self._check(outbox, 0.0)
        finally:
            self._check(outbox, 0.0, show=True)
        if self._failure:
            raise self._undelivered()
        first, last = _datetime(self._first_us), _datetime(self._last_us)
        return Sent(self._acknowledged, dict(self._kinds), self._elapsed_s(), first, last)

    def on_client_error(self, error: KafkaError) -> None:
        """Errors that the client reports by itself, such as a broker that does not answer."""
        self._trouble = error_text(error)

    def _send_all(self, outbox: Outbox, records: Iterator[Made]) -> None:
        while (due := self._due()) is not None:
            if due:
                burst = list(islice(records, due))
                try:
                    self._send_burst(outbox, burst)
                except KafkaException as error:  # the acknowledgements of earlier records are still awaited
                    self._failure, self._rejected = error_text(error), 1
                self._check(outbox, 0.0)
                if len(burst) < due:
                    return
            else:
                wait_s = self.pace.next_due_s(self._sent, self._elapsed_s())
                self._check(outbox, min(max(wait_s, _SHORTEST_WAIT_S), _CHECK_EVERY_S))

    def _due(self) -> int | None:
        if self.stop.is_set() or self._failure:
            return None
        return self.pace.due(self._sent, self._elapsed_s())

    def _send_burst(self, outbox: Outbox, burst: list[Made]) -> None:
        sent_before, guard_us = self._sent, self.pace.guard_us(time.time())
        topic, produce, on_error, on_delivery = self.topic, outbox.produce, self._on_error, self._on_delivery
        keeps_ledger = self.ledger is not None
        try:
            for made in burst:
                if made.clock_us > guard_us:
                    self._hold_back(outbox, made.clock_us)
                    guard_us = self.pace.guard_us(time.time())
                report = partial(on_delivery, made) if keeps_ledger else on_error
                while True:
                    try:
                        produce(topic, made.value, made.key, PARTITION_BY_KEY, report)
                        break
                    except BufferError:  # the client's queue is full: wait for the broker
                        self._wait(outbox, _CHECK_EVERY_S)
                self._sent += 1
        except _SendingOver:
            pass
        finally:
            self._count(burst[: self._sent - sent_before])

    def _count(self, sent: list[Made]) -> None:
        if sent:
            self._kinds.update(made.kind for made in sent)
            self._first_us = sent[0].clock_us if self._first_us is None else self._first_us
            self._last_us = sent[-1].clock_us

    def _hold_back(self, outbox: Outbox, clock_us: int) -> None:
        """Waits until the event clock is within the guard."""
        while (ahead_s := (clock_us - self.pace.guard_us(time.time())) / 1e6) > 0:
            self._holding_back = True
            self._wait(outbox, min(max(ahead_s, _SHORTEST_WAIT_S), _CHECK_EVERY_S))

    def _wait(self, outbox: Outbox, wait_s: float) -> None:
        self._check(outbox, wait_s)
        if self._due() is None:
            raise _SendingOver

    def _check(self, outbox: Outbox, wait_s: float, *, show: bool = False) -> None:
        """Collects acknowledgements, writes them to the ledger, and reports the progress."""
        outbox.poll(wait_s)
        if self.ledger is not None:
            self.ledger.flush()
        elapsed_s = self._elapsed_s()
        if show or elapsed_s - self._shown_s >= _CHECK_EVERY_S:
            # The client's queue also holds events that are not records: the number must never decrease.
            acknowledged = max(self._acknowledged, self._sent - self._failed - len(outbox))
            if acknowledged > self._acknowledged:
                self._trouble = None
            self._acknowledged, self._shown_s = acknowledged, elapsed_s
            if self.progress is not None:
                self.progress(SendProgress(acknowledged, self._sent, elapsed_s, self._holding_back, self._trouble))
            self._holding_back = False

    def _on_error(self, error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            self._failed += 1
            self._failure = self._failure or error_text(error)

    def _on_delivery(self, made: Made, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._on_error(error, message)
        elif self.ledger is not None:
            partition, offset = message.partition(), message.offset()
            assert partition is not None
            assert offset is not None
            self.ledger.add(self.topic, partition, offset, message.timestamp()[1], made)

    def _elapsed_s(self) -> float:
        return time.monotonic() - self._started_s

    def _undelivered(self) -> Failed:
        return RECORDS_NOT_ACKNOWLEDGED(
            topic=self.topic,
            address=self.address,
            acknowledged=self._acknowledged,
            sent=self._sent + self._rejected,
            reason=f"{self._failure} ({self._trouble})" if self._trouble else self._failure,
        )


def _datetime(time_us: int | None) -> datetime | None:
    return None if time_us is None else datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=time_us)
