"""What ended a query, told from the text of its exception: who must act, and whether waiting helps."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from anabranch.errors import ErrorMessage, Failed, Message
from anabranch.streaming import messages

Cause = Literal["stopped", "output closed", "kafka away", "worker slow", "data lost", "out of memory", "no permission", "other"]

# Looked for in this order: a loss of data often drags a time-out behind it.
_SIGNS: tuple[tuple[Cause, re.Pattern[str]], ...] = (
    ("stopped", re.compile(r"GateClosedError")),
    ("output closed", re.compile(r"OutputClosedError")),
    (
        "data lost",
        re.compile(r"KAFKA_DATA_LOSS|OffsetOutOfRange|data may have been lost|failOnDataLoss|Partition.*offset was changed"),
    ),
    ("out of memory", re.compile(r"java\.lang\.OutOfMemoryError|SparkOutOfMemoryError")),
    ("no permission", re.compile(r"AccessDeniedException|AccessControlException|Permission denied")),
    (
        "kafka away",
        re.compile(
            r"kafka\.common\.errors\.(Timeout|Disconnect|Network|BrokerNotAvailable|LeaderNotAvailable|NotLeaderOrFollower"
            r"|CoordinatorNotAvailable|RetriableException)\w*|No resolvable bootstrap urls|Timed out waiting for a node"
        ),
    ),
    # Spark gives a Python worker 10 seconds to start, which a busy machine may not.
    ("worker slow", re.compile(r"waiting for the Python worker to connect back")),
)

FAILURES: Mapping[Cause, ErrorMessage[Failed]] = {
    "data lost": messages.DATA_LOST,
    "out of memory": messages.OUT_OF_MEMORY,
    "no permission": messages.QUERY_FORBIDDEN,
}


# The query restarts on its checkpoint after a pause.
TRANSIENT: Mapping[Cause, Message] = {"kafka away": messages.WAITS_FOR_KAFKA, "worker slow": messages.WAITS_FOR_WORKER}
# Kafka comes back; a worker that cannot start so often in a row will not.
_MOST_SLOW_WORKERS = 5


class OutputClosedError(Exception):
    """Ends a query whose batch cannot be printed, because nobody reads it any more."""


def cause_of(error: str) -> Cause:
    return next((cause for cause, sign in _SIGNS if sign.search(error)), "other")


def is_transient(cause: Cause, failures: int) -> bool:
    """Whether waiting helps, after so many failures in a row."""
    return cause in TRANSIENT and (cause == "kafka away" or failures < _MOST_SLOW_WORKERS)
