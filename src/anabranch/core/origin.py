"""Where a result is from, as the headers of its record say it: one place for those who write them and those who read them."""

from __future__ import annotations

PIPELINE = "anabranch-pipeline"
ORIGIN = "anabranch-origin"
BATCH = "anabranch-batch"
OPERATION = "anabranch-operation"


def stream_headers(pipeline: str, batch: int) -> dict[str, str]:
    return {PIPELINE: pipeline, ORIGIN: "stream", BATCH: str(batch)}


def operation_headers(pipeline: str, origin: str, operation: str) -> dict[str, str]:
    return {PIPELINE: pipeline, ORIGIN: origin, OPERATION: operation}
