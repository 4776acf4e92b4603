"""Where a result is from, as the headers of its record say: one place for those who write them and those who read them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

PIPELINE = "anabranch-pipeline"
ORIGIN = "anabranch-origin"
BATCH = "anabranch-batch"
OPERATION = "anabranch-operation"


class ResultRecord(Protocol):
    """A result on a topic."""

    @property
    def key_text(self) -> str: ...
    def header(self, name: str) -> str | None: ...


def emitted_and_corrected(results: Iterable[ResultRecord], pipeline: str, batch: int) -> tuple[set[str], set[str]]:
    """The keys that the stream's batches emitted, from this one on; and those of them that an operation has corrected since."""
    emitted: set[str] = set()
    corrected: set[str] = set()
    for result in (result for result in results if result.header(PIPELINE) == pipeline):
        number = result.header(BATCH) or ""
        if result.header(ORIGIN) != "stream":
            corrected.add(result.key_text)
        elif number.isdecimal() and int(number) >= batch:
            emitted.add(result.key_text)
            corrected.discard(result.key_text)
    return emitted, emitted & corrected


def stream_headers(pipeline: str, batch: int) -> dict[str, str]:
    return {PIPELINE: pipeline, ORIGIN: "stream", BATCH: str(batch)}


def operation_headers(pipeline: str, origin: str, operation: str) -> dict[str, str]:
    return {PIPELINE: pipeline, ORIGIN: origin, OPERATION: operation}
