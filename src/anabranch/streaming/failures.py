"""What ended a query, told from the text of its exception: who must act, and whether waiting helps. Pure."""

from __future__ import annotations

import re
from typing import Literal

Cause = Literal["stopped", "kafka away", "data lost", "other"]

# Looked for in this order: a loss of data often drags a time-out behind it.
_SIGNS: tuple[tuple[Cause, re.Pattern[str]], ...] = (
    ("stopped", re.compile(r"GateClosedError")),
    (
        "data lost",
        re.compile(r"KAFKA_DATA_LOSS|OffsetOutOfRange|data may have been lost|failOnDataLoss|Partition.*offset was changed"),
    ),
    (
        "kafka away",
        re.compile(
            r"kafka\.common\.errors\.(Timeout|Disconnect|Network|BrokerNotAvailable|LeaderNotAvailable|NotLeaderOrFollower"
            r"|CoordinatorNotAvailable|RetriableException)\w*|No resolvable bootstrap urls|Timed out waiting for a node"
        ),
    ),
)
_CLASS_NAME = re.compile(r"^(?:[a-z][\w$]*\.)+[A-Z][\w$]*(?:Exception|Error)?:\s*")


def cause_of(error: str) -> Cause:
    return next((cause for cause, sign in _SIGNS if sign.search(error)), "other")


def summary_of(error: str) -> str:
    """The line of a Java exception that a person can use: the innermost cause's own words, without class names or frames."""
    lines = [line.strip() for line in error.splitlines()]
    said = [line for line in lines if line and not re.match(r"at \S+\(|\.\.\. \d+|JVM stacktrace|===|Traceback|File \"", line)]
    causes = [line.removeprefix("Caused by:").strip() for line in said if line.startswith("Caused by:")]
    line = (causes or said or ["it said nothing"])[-1 if causes else 0]
    return _CLASS_NAME.sub("", line)[:300]
