"""What every Kafka client of ours has in common: quiet logging, quick reconnects, and one error for bad properties."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from confluent_kafka import KafkaError, KafkaException

from anabranch.kafka.messages import KAFKA_PROPERTIES_REJECTED

Client = TypeVar("Client")

# A user's properties override these.
CLIENT_DEFAULTS = {
    # The client's log lines would break the terminal's display. What matters is reported as an error.
    "log_level": "0",
    # librdkafka's default backs off for up to 10 s: a broker that restarts would look unavailable for longer than it is.
    "reconnect.backoff.ms": "50",
    "reconnect.backoff.max.ms": "500",
    "socket.connection.setup.timeout.ms": "5000",
}
_QUIET_LOGGER = logging.Logger("anabranch.kafka", level=logging.CRITICAL + 1)


def open_client(client: Callable[..., Client], properties: Mapping[str, Any]) -> Client:
    """An AdminClient, Producer or Consumer. librdkafka checks the properties here and connects in the background."""
    try:
        return client({**CLIENT_DEFAULTS, **properties}, logger=_QUIET_LOGGER)
    except KafkaException as error:
        raise KAFKA_PROPERTIES_REJECTED(reason=error_text(error)) from None


def error_text(error: KafkaException | KafkaError) -> str:
    """librdkafka's text, without the address in front, the timing at the end and the full stop."""
    cause = error.args[0] if isinstance(error, KafkaException) and error.args else error
    text = cause.str() if isinstance(cause, KafkaError) else str(cause)
    return re.sub(r"^\S+://\S+: | \(after \d+ms .*\)$", "", text).rstrip(".")
