"""The producer: the one place that opens one, with the guarantees that every record of ours is sent with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from confluent_kafka import Producer

from anabranch.kafka.client import open_client

# A user's properties cannot change these.
GUARANTEES = {
    # An acknowledged record is kept, once, and in order within its partition, even if the client retries.
    "acks": "all",
    "enable.idempotence": "true",
    # The partition that Java and Spark choose for a key. librdkafka's default chose the same one for only 9 of 20 keys.
    "partitioner": "murmur2_random",
}
# librdkafka's RD_KAFKA_PARTITION_UA: the partitioner chooses by the record's key.
PARTITION_BY_KEY = -1


def open_producer(
    properties: Mapping[str, str], *, defaults: Mapping[str, Any] | None = None, fixed: Mapping[str, Any] | None = None
) -> Producer:
    """`properties` are the user's, in librdkafka's spelling: they override `defaults`, and `fixed` overrides them."""
    return open_client(Producer, {**(defaults or {}), **properties, **GUARANTEES, **(fixed or {})})
