"""What ended a query, told from the text of its exception: who must act, and whether waiting helps."""

from __future__ import annotations

import re
from typing import Literal

Cause = Literal["stopped", "output closed", "kafka away", "data lost", "out of memory", "no permission", "other"]

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
)


class OutputClosedError(Exception):
    """Ends a query whose batch cannot be printed, because nobody reads it any more."""


def cause_of(error: str) -> Cause:
    return next((cause for cause, sign in _SIGNS if sign.search(error)), "other")
