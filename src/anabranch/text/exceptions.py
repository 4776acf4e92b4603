"""Exceptions of Java and Python for people: the one line that says what happened."""

from __future__ import annotations

import re

_CLASS_NAME = re.compile(r"^(?:[a-z][\w$]*\.)+[A-Z][\w$]*(?:Exception|Error)?:\s*")
_NOISE = re.compile(r"at \S+\(|\.\.\. \d+|JVM stacktrace|===|Traceback|File \"|An error occurred while calling")


def summary_of(error: str) -> str:
    """The line of a Java exception that a person can use: the innermost cause's own words, without class names or frames."""
    # py4j names the call first; the exception follows behind a colon.
    lines = [line.strip().removeprefix(": ") for line in error.splitlines()]
    said = [line for line in lines if line and not _NOISE.match(line)]
    causes = [line.removeprefix("Caused by:").strip() for line in said if line.startswith("Caused by:")]
    line = (causes or said or ["no message"])[-1 if causes else 0]
    return _CLASS_NAME.sub("", line)[:300]
