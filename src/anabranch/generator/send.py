"""Opens the producer with what a ledger relies on, makes sure that the topic is there, and sends (sender.py)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from confluent_kafka import KafkaException, Producer

from anabranch.errors import Failed, Misused
from anabranch.generator.ledger import Ledger
from anabranch.generator.pace import Pace
from anabranch.generator.sender import Progress, Sender, Sent, error_text
from anabranch.generator.visits import Made
from anabranch.kafka.properties import PROMISES
from anabranch.text.suggest import did_you_mean

__all__ = ["Progress", "Sent", "send"]

# What a user's properties may change.
_TUNING: dict[str, Any] = {
    # Visits take 48 bytes instead of 161: less to copy and to write for a broker that has the same two cores.
    "compression.type": "lz4",
    # Batches fill up at full speed; at low rates nobody waits longer than this for a record.
    "linger.ms": 20,
    # 20 ms at 100,000 a second are 320 kB: lingering ends a batch, not its size.
    "batch.size": 1_000_000,
    # About a second at full speed: so long a Ctrl-C waits for the last acknowledgements.
    "queue.buffering.max.messages": 100_000,
    # A broker that restarts is back by then; one that is not has gone.
    "message.timeout.ms": 120_000,
    # Only what is critical: its lines would tear the bar. Troubles come through error_cb.
    "log_level": 2,
}
# Kafka away at the start must be said within seconds.
CONNECT_TIMEOUT_S = 5.0
# A topic that was just created shows up in a broker's metadata a little after the answer that it was (0.1 s and more).
_TOPIC_APPEARS_S = 1.0


def send(
    properties: Mapping[str, str],
    topic: str,
    records: Iterable[Made],
    *,
    pace: Pace | None = None,
    ledger: Ledger | None = None,
    progress: Callable[[Progress], None] | None = None,
    stop: threading.Event | None = None,
) -> Sent:
    """Send until the pace, the records or `stop` end it, then await every acknowledgement.

    The ledger is written as they come, and left open. A second use of the same records may skip those of a burst
    that was cut short.
    """
    address = properties.get("bootstrap.servers", "")
    sender = Sender(topic, address, pace or Pace(), ledger, progress, stop or threading.Event())
    try:
        # Without a ledger only failures are reported: reports of all records made it a fifth slower or more.
        reports = {"error_cb": sender.complain, "delivery.report.only.error": ledger is None}
        producer = Producer({**_TUNING, **properties, **PROMISES, **reports})
    except KafkaException as error:
        raise Misused(
            f"the Kafka client refuses its properties: {error_text(error)}.", "mend [kafka] in anabranch.toml"
        ) from None
    _require_topic(producer, topic, address)
    return sender.run(producer, iter(records))


def _require_topic(producer: Producer, topic: str, address: str) -> None:
    until_s = time.monotonic() + _TOPIC_APPEARS_S
    while topic not in (topics := _topics(producer, address)):
        if time.monotonic() > until_s:
            raise Failed(
                f"there is no topic {topic} at {address}.",
                f"anabranch topics create {topic}",
                did_you_mean(topic, topics),
            )
        producer.poll(0.1)


def _topics(producer: Producer, address: str) -> list[str]:
    try:
        # All of them: to ask for one by name may create it.
        found = producer.list_topics(timeout=CONNECT_TIMEOUT_S).topics
    except KafkaException as error:
        raise Failed(f"Kafka does not answer at {address}: {error_text(error)}.", "start it: anabranch broker start") from None
    return [name for name in found if not name.startswith("__")]
