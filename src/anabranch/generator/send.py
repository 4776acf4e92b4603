"""Sends records to a topic that exists, with a producer tuned for throughput (sender.py does the sending)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from anabranch.generator.ledger import Ledger
from anabranch.generator.pace import Pace
from anabranch.generator.sender import Sender, SendProgress, Sent
from anabranch.generator.timeline import Made
from anabranch.kafka.admin import KafkaAdmin
from anabranch.kafka.records import open_producer

__all__ = ["SendProgress", "Sent", "send"]

# A user's properties override these.
_TUNING: dict[str, Any] = {
    # A visit takes 48 bytes instead of 161: less to copy and to write for a broker that shares the same two cores.
    "compression.type": "lz4",
    # At full speed batches fill up; at low rates a record is delayed by at most this.
    "linger.ms": 20,
    # 20 ms at 100,000 records a second are 320 kB: batches are ended by lingering, not by their size.
    "batch.size": 1_000_000,
    # About a second at full speed: the time that Ctrl-C waits for the last acknowledgements.
    "queue.buffering.max.messages": 100_000,
    # Long enough for a broker to restart.
    "message.timeout.ms": 120_000,
}


def send(
    properties: Mapping[str, str],
    topic: str,
    records: Iterable[Made],
    *,
    pace: Pace | None = None,
    ledger: Ledger | None = None,
    progress: Callable[[SendProgress], None] | None = None,
    stop: threading.Event | None = None,
) -> Sent:
    """Sends until the pace, the records or `stop` end it, then waits for every acknowledgement.

    The ledger is written as acknowledgements arrive, and is left open. If the same iterator of records is used again, it may
    skip records of a burst that was cut short.
    """
    KafkaAdmin(properties).find(topic)
    sender = Sender(topic, properties["bootstrap.servers"], pace or Pace(), ledger, progress, stop or threading.Event())
    # Without a ledger only failures are reported: reporting every record made sending at least a fifth slower.
    reports = {"error_cb": sender.on_client_error, "delivery.report.only.error": ledger is None}
    return sender.run(open_producer(properties, defaults=_TUNING, fixed=reports), iter(records))
